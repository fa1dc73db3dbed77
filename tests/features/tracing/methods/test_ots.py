"""Blocks, transactions and addresses as Otterscan asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.chain.api_client import (
    FACTORY,
    INNER,
    OUTER,
    ApiClient,
    TracedChain,
    send,
    traced_chain,
)
from tests.support.chain.dev_chain import ALICE, BOB, LOGGER
from tests.support.hex_data import hexed, word
from tests.support.rpc_client import RpcError


@pytest.fixture
def full(client: ApiClient) -> ApiClient:
    """Return a client of a chain whose block 1 has five transactions."""
    client.chain.schedule.seal_on_request()
    for nonce in range(5):
        send(client, nonce, to=LOGGER, wei=0, data=bytes([nonce]) * 10)
    client.chain.builder.seal()
    return client


def test_details_have_fees_and_no_transactions(full: ApiClient) -> None:
    details = full("ots_getBlockDetails", 1)
    block = full("eth_getBlockByNumber", "0x1", True)
    assert details["block"]["transactionCount"] == 5
    assert "transactions" not in details["block"]
    assert details["issuance"]["issuance"] == "0x0"
    fees = [
        int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)
        for receipt in full("eth_getBlockReceipts", "0x1")
    ]
    assert int(details["totalFees"], 16) == sum(fees)
    assert full("ots_getBlockDetailsByHash", block["hash"]) == details
    assert full("ots_getBlockDetails", 99) is None
    assert full("ots_getBlockDetailsByHash", "0x" + "ab" * 32) is None


@pytest.mark.parametrize(("page", "positions"), [(0, [3, 4]), (1, [1, 2]), (2, [0]), (3, [])])
def test_the_first_page_has_the_last_transactions(
    full: ApiClient, page: int, positions: list[int]
) -> None:
    shown = full("ots_getBlockTransactions", 1, page, 2)
    block = full("eth_getBlockByNumber", "0x1", True)
    assert [transaction["hash"] for transaction in shown["fullblock"]["transactions"]] == [
        block["transactions"][position]["hash"] for position in positions
    ]
    assert shown["fullblock"]["transactionCount"] == 5
    assert [len(transaction["input"]) for transaction in shown["fullblock"]["transactions"]] == [
        10
    ] * len(positions)
    assert [receipt["logs"] for receipt in shown["receipts"]] == [None] * len(positions)


def test_pages_are_bounded(full: ApiClient) -> None:
    assert full("ots_getBlockTransactions", 99, 0, 5) is None
    with pytest.raises(RpcError, match="a page has at most 1000 transactions") as rejection:
        full("ots_getBlockTransactions", 1, 0, 1_001)
    assert rejection.value.code == -32602


@pytest.fixture(scope="module")
def chain() -> Iterator[TracedChain]:
    with traced_chain() as chain:
        yield chain


def test_operations_leave_out_the_transaction_itself(chain: TracedChain) -> None:
    assert chain.client("ots_getInternalOperations", chain.nested) == [
        {"type": 0, "from": str(OUTER), "to": str(BOB), "value": "0x1"}
    ]
    assert chain.client("ots_getInternalOperations", chain.transfer) == []
    (creation,) = chain.client("ots_getInternalOperations", chain.creating)
    assert (creation["type"], creation["from"]) == (2, str(FACTORY))


def test_frames_come_in_order_with_their_depth(chain: TracedChain) -> None:
    frames = chain.client("ots_traceTransaction", chain.nested)
    assert [(frame["type"], frame["depth"], frame["to"]) for frame in frames] == [
        ("CALL", 0, str(OUTER)),
        ("CALL", 1, str(INNER)),
        ("CALL", 1, str(BOB)),
    ]
    created = chain.client("ots_traceTransaction", chain.creating)
    assert [frame["type"] for frame in created] == ["CALL", "CREATE"]


def test_the_error_is_what_was_reverted_with(chain: TracedChain) -> None:
    assert chain.client("ots_getTransactionError", chain.failed) == hexed(word(0x2A))
    assert chain.client("ots_getTransactionError", chain.transfer) == "0x"
    with pytest.raises(RpcError, match="transaction not found"):
        chain.client("ots_getTransactionError", "0x" + "ab" * 32)


def test_a_transaction_is_found_by_its_nonce(chain: TracedChain) -> None:
    found = chain.client("ots_getTransactionBySenderAndNonce", str(ALICE), 2)
    assert found == chain.creating
    assert chain.client("ots_getTransactionBySenderAndNonce", str(ALICE), 99) is None


@pytest.mark.parametrize("address", [LOGGER, INNER, ALICE])
def test_what_no_transaction_created_has_no_creator(chain: TracedChain, address: bytes) -> None:
    assert chain.client("ots_getContractCreator", hexed(address)) is None


def hashes(page: dict[str, Any]) -> list[str]:
    assert [receipt["transactionHash"] for receipt in page["receipts"]] == [
        transaction["hash"] for transaction in page["txs"]
    ]
    assert all(isinstance(receipt["timestamp"], int) for receipt in page["receipts"])
    return [transaction["hash"] for transaction in page["txs"]]


def test_pages_go_back_from_the_newest(chain: TracedChain) -> None:
    first = chain.client("ots_searchTransactionsBefore", str(ALICE), 0, 2)
    assert hashes(first) == [chain.transfer, chain.creating]
    assert (first["firstPage"], first["lastPage"]) == (True, False)
    oldest = int(first["txs"][-1]["blockNumber"], 16)
    last = chain.client("ots_searchTransactionsBefore", str(ALICE), oldest, 2)
    assert hashes(last) == [chain.failed, chain.nested]
    assert (last["firstPage"], last["lastPage"]) == (False, True)


def test_pages_go_on_from_the_oldest(chain: TracedChain) -> None:
    last = chain.client("ots_searchTransactionsAfter", str(ALICE), 0, 3)
    assert hashes(last) == [chain.creating, chain.failed, chain.nested]
    assert (last["firstPage"], last["lastPage"]) == (False, True)
    newest = int(last["txs"][0]["blockNumber"], 16)
    first = chain.client("ots_searchTransactionsAfter", str(ALICE), newest, 3)
    assert hashes(first) == [chain.transfer]
    assert (first["firstPage"], first["lastPage"]) == (True, False)


@pytest.mark.parametrize("address", [OUTER, INNER, BOB])
def test_calls_between_contracts_are_found(chain: TracedChain, address: bytes) -> None:
    page = chain.client("ots_searchTransactionsBefore", "0x" + address.hex(), 0, 25)
    assert hashes(page) == [chain.nested]
    assert (page["firstPage"], page["lastPage"]) == (True, True)
