"""Accounts within a block, and accounts that blocks have changed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol.rpc.namespaces.debug.accounts import MAX_BLOCKS
from tests.support.chain.api_client import ApiClient, running_api, send
from tests.support.chain.dev_chain import ALICE, BOB, LOGGER, NOBODY
from tests.support.rpc_client import RpcError


@pytest.fixture(scope="module")
def client() -> Iterator[ApiClient]:
    """Return a chain whose block 1 pays somebody twice and calls a contract, whose block 2 is empty, and whose 3 is edited."""
    with running_api() as client:
        client("evm_setAutomine", False)
        send(client, 0, wei=5)
        send(client, 1, wei=7)
        send(client, 2, to=LOGGER, wei=0)
        client("evm_mine")
        client("evm_mine")
        client("anvil_setStorageAt", str(LOGGER), "0x1", "0x" + "11" * 32)
        client("evm_mine")
        yield client


def hash_of(client: ApiClient, number: int) -> str:
    known: str = client("eth_getBlockByNumber", hex(number), False)["hash"]
    return known


def code_of(client: ApiClient, method: str, *params: object) -> tuple[int, str]:
    with pytest.raises(RpcError) as rejection:
        client(method, *params)
    return rejection.value.code, rejection.value.message


@pytest.mark.parametrize(("index", "balance"), [(0, 5), (1, 12), (2, 12)])
def test_an_account_is_as_it_was_after_a_transaction(
    client: ApiClient, index: int, balance: int
) -> None:
    for block in (1, "0x1", hash_of(client, 1)):
        found = client("debug_accountInfoAt", block, index, str(NOBODY))
        assert found == {"balance": hex(balance), "nonce": "0x0", "code": "0x"}
    assert client("debug_accountInfoAt", 1, index, str(ALICE))["nonce"] == hex(index + 1)


def test_the_account_after_the_last_transaction_is_that_of_the_block(client: ApiClient) -> None:
    for address in map(str, (ALICE, LOGGER, NOBODY)):
        within = client("debug_accountInfoAt", "0x1", 2, address)
        assert within == client("eth_getAccountInfo", address, "0x1")


def test_a_transaction_that_the_block_has_not_is_rejected(client: ApiClient) -> None:
    assert code_of(client, "debug_accountInfoAt", "0x1", 3, str(BOB)) == (
        -32000,
        f"transaction index 3 out of range for block {hash_of(client, 1)}",
    )
    assert code_of(client, "debug_accountInfoAt", "0x2", 0, str(BOB))[0] == -32000


def test_what_was_not_executed_has_no_accounts_within(client: ApiClient) -> None:
    assert code_of(client, "debug_accountInfoAt", "0x0", 0, str(BOB)) == (
        -32000,
        "genesis is not traceable",
    )
    assert code_of(client, "debug_accountInfoAt", "0x9", 0, str(BOB))[1] == "block #9 not found"
    assert "pending" in code_of(client, "debug_accountInfoAt", "pending", 0, str(BOB))[1]


def test_a_block_has_the_accounts_that_it_changed(client: ApiClient) -> None:
    changed = client("debug_getModifiedAccountsByNumber", "0x1")
    assert {str(ALICE), str(NOBODY)} <= set(changed)
    assert str(BOB) not in changed
    assert str(LOGGER) not in changed
    assert len(changed) == len(set(changed))
    assert client("debug_getModifiedAccountsByHash", hash_of(client, 1)) == changed


def test_an_empty_block_changed_nothing(client: ApiClient) -> None:
    assert client("debug_getModifiedAccountsByNumber", 2) == []


def test_an_edited_slot_changes_its_account(client: ApiClient) -> None:
    assert client("debug_getModifiedAccountsByNumber", "latest") == [str(LOGGER)]


def test_a_range_is_without_its_first_block(client: ApiClient) -> None:
    assert client("debug_getModifiedAccountsByNumber", "0x1", "0x3") == [str(LOGGER)]
    all_of_them = client("debug_getModifiedAccountsByNumber", "earliest", "latest")
    assert {str(ALICE), str(NOBODY), str(LOGGER)} <= set(all_of_them)
    hashes = hash_of(client, 0), hash_of(client, 3)
    assert client("debug_getModifiedAccountsByHash", *hashes) == all_of_them


@pytest.mark.parametrize(("start", "end"), [(2, 2), (3, 1)])
def test_a_range_that_has_no_block_is_rejected(client: ApiClient, start: int, end: int) -> None:
    assert code_of(client, "debug_getModifiedAccountsByNumber", start, end) == (
        -32602,
        f"start block height ({start}) must be less than end block height ({end})",
    )


def test_the_first_block_has_none_before_it(client: ApiClient) -> None:
    code, text = code_of(client, "debug_getModifiedAccountsByNumber", "0x0")
    assert (code, text) == (-32000, "block 0x0 found, but parent missing")


def test_a_range_has_a_limit() -> None:
    with running_api() as client:
        client("anvil_mine", hex(MAX_BLOCKS + 1))
        code, text = code_of(client, "debug_getModifiedAccountsByNumber", 0, "latest")
        assert (code, text) == (
            -32602,
            f"block range too large, currently limited to {MAX_BLOCKS}: {MAX_BLOCKS + 1}",
        )
        assert client("debug_getModifiedAccountsByNumber", 1, "latest") == []
