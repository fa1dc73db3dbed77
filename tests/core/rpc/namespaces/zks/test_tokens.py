"""Tokens that came from L1, and what accounts have of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from entresol.primitives.values import Address
from entresol.rpc.namespaces.zks.tokens import BridgedTokens, Token, ZksTokens
from entresol.rpc.services.block_resolver import BlockResolver
from entresol.rpc.types.block_id import LATEST
from tests.support.chain.dev_chain import open_chain
from tests.support.contracts.layer_two import (
    ALICE,
    BOB,
    ETHER,
    L1_TOKEN,
    LayerTwo,
    encode,
    metadata,
)
from tests.support.rpc_client import NamespaceClient

NOBODY = Address(b"\xee" * 20)
OTHER_TOKEN = Address(b"\x71" * 20)
ZERO = str(Address.zero())
ETHER_TOKEN = {
    "l1Address": ZERO, "l2Address": ZERO, "name": "Ether", "symbol": "ETH", "decimals": 18,
}  # fmt: skip
SHELL = metadata(encode("(string)", "Shell"), encode("(string)", "SHL"), encode("(uint256)", 0))


@pytest.fixture
def l2() -> Iterator[LayerTwo]:
    layer = LayerTwo()
    yield layer
    layer.close()


@pytest.fixture
def zks(l2: LayerTwo) -> Iterator[NamespaceClient]:
    client = NamespaceClient(ZksTokens(BlockResolver(l2.chain)))
    yield client
    client.close()


def bridged(l2: LayerTwo) -> list[Token]:
    """Return the tokens that came from L1, in the order of their first deposit."""
    return list(BridgedTokens(BlockResolver(l2.chain).evm_env(LATEST)).all())[1:]


def test_a_fresh_chain_has_ether_alone(zks: NamespaceClient) -> None:
    assert zks("zks_getConfirmedTokens", 0, 255) == [ETHER_TOKEN]


@pytest.mark.parametrize("first", [1, 2**63 - 1, "0xffffffffffffffff"])
def test_behind_the_last_token_there_is_none(zks: NamespaceClient, first: int | str) -> None:
    assert zks("zks_getConfirmedTokens", first, 255) == []


@pytest.mark.parametrize("limit", [1, 2, "0xff"])
def test_tokens_that_others_bridged_are_not_well_known(
    l2: LayerTwo, zks: NamespaceClient, limit: object
) -> None:
    l2.deposit()
    l2.deposit(token=OTHER_TOKEN, description=SHELL)
    assert zks("zks_getConfirmedTokens", 0, limit) == [ETHER_TOKEN]
    assert zks("zks_getConfirmedTokens", 1, limit) == []
    assert zks("zks_getConfirmedTokens", 0, 0) == []


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ((0, 256), "limit: at most 255, got 256"),
        ((-1, 1), "params[0]: "),
        ((0,), "params[1]: "),
        (("x", 1), "params[0]: "),
    ],
)
def test_a_page_that_cannot_be_is_rejected(
    zks: NamespaceClient, params: tuple[object, ...], message: str
) -> None:
    rejection = zks.error("zks_getConfirmedTokens", *params)
    assert rejection.code == -32602
    assert rejection.message.startswith(message)


def test_balances_are_those_that_an_account_has(l2: LayerTwo, zks: NamespaceClient) -> None:
    l2.deposit(7)
    l2.deposit(5, token=OTHER_TOKEN, receiver=BOB, description=SHELL)
    crown, shell = (str(token.l2_address) for token in bridged(l2))
    assert zks("zks_getAllAccountBalances", str(ALICE)) == {ZERO: hex(100 * ETHER), crown: "0x7"}
    assert zks("zks_getAllAccountBalances", str(BOB)) == {
        ZERO: hex(l2.balance(BOB)), shell: "0x5"
    }  # fmt: skip


def test_an_empty_account_has_no_balances(zks: NamespaceClient) -> None:
    assert zks("zks_getAllAccountBalances", str(NOBODY)) == {}


def test_another_base_token_has_its_address_on_l1() -> None:
    l2 = LayerTwo(base_token=L1_TOKEN)
    zks = NamespaceClient(ZksTokens(BlockResolver(l2.chain)))
    with closing(l2), closing(zks):
        (token,) = zks("zks_getConfirmedTokens", 0, 1)
        assert token["l1Address"] == str(L1_TOKEN)
        assert int(token["l2Address"], 16) == 0x800A
        assert set(zks("zks_getAllAccountBalances", str(ALICE))) == {token["l2Address"]}


def test_a_chain_without_system_contracts_has_no_tokens() -> None:
    chain = open_chain()
    zks = NamespaceClient(ZksTokens(BlockResolver(chain)))
    with closing(chain), closing(zks):
        assert zks("zks_getConfirmedTokens", 0, 255) == []
        assert zks("zks_getAllAccountBalances", str(ALICE)) == {}
