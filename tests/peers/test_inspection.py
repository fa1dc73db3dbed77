"""Raw objects, the configuration and unsigned transactions, beside those of a real anvil."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.anvil import Anvil, running_anvil
from tests.support.inprocess_node import inprocess_node
from tests.support.rpc_client import HttpRpcClient, RpcError

pytestmark = pytest.mark.peer

ALICE = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
BOB = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
STRANGER = "0x" + "ab" * 20
WHOLE = {
    "from": ALICE, "to": BOB, "value": "0x5", "gas": "0x7530", "nonce": "0x0", "data": "0x1234",
    "maxFeePerGas": "0x77359400", "maxPriorityFeePerGas": "0x1",
}  # fmt: skip
# Returns one byte of code.
CREATION = "0x60016000f3"


@pytest.fixture(scope="module")
def node() -> Iterator[HttpRpcClient]:
    with inprocess_node() as started:
        client = HttpRpcClient(started.url)
        yield client
        client.close()


@pytest.fixture(scope="module")
def anvil() -> Iterator[Anvil]:
    with running_anvil("--chain-id", "270", "--hardfork", "osaka") as started:
        yield started


def test_the_configuration_of_the_fork_is_the_same_but_for_system_contracts(
    node: HttpRpcClient, anvil: Anvil
) -> None:
    ours, theirs = (peer("eth_config") for peer in (node, anvil))
    # Blocks here call none.
    assert ours["current"].pop("systemContracts") == {}
    assert theirs["current"].pop("systemContracts")
    assert ours == theirs


def test_a_filled_transaction_is_the_same(node: HttpRpcClient, anvil: Anvil) -> None:
    ours, theirs = (peer("eth_fillTransaction", WHOLE) for peer in (node, anvil))
    assert ours["raw"] == theirs["raw"]
    assert {key: ours["tx"].get(key) for key in theirs["tx"]} == theirs["tx"]


def test_raw_transactions_and_codes_are_the_same(node: HttpRpcClient, anvil: Anvil) -> None:
    raw, codes = [], []
    for peer in (node, anvil):
        sent = peer("eth_sendTransactionSync", WHOLE)["transactionHash"]
        created = peer("eth_sendTransactionSync", {"from": BOB, "data": CREATION})
        raw.append(peer("debug_getRawTransaction", sent))
        assert peer("eth_getCode", created["contractAddress"], "latest") == "0x00"
        codes.append(peer("debug_codeByHash", "0x" + EMPTY_BYTE_HASH))
        assert peer("debug_codeByHash", "0x" + "12" * 32) == "0x"
    assert raw[0] == raw[1]
    assert codes[0] == codes[1] == "0x00"


EMPTY_BYTE_HASH = "bc36789e7a1e281436464229828f817d6612f7b477d66591ff96a9e064bcc98a"
"""The hash of a zero byte, which is the created code."""


def test_any_account_that_can_pay_sends_without_a_signature(
    node: HttpRpcClient, anvil: Anvil
) -> None:
    for peer in (node, anvil):
        with pytest.raises(RpcError, match=r"(?i)insufficient funds"):
            peer("eth_sendUnsignedTransaction", {"from": STRANGER, "to": BOB, "gas": "0x7530"})
        peer("anvil_setBalance", STRANGER, hex(10**18))
        sent = peer("eth_sendUnsignedTransaction", {"from": STRANGER, "to": BOB})
        assert peer("eth_getTransactionByHash", sent)["from"] == STRANGER
