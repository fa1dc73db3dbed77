"""Blocks as Otterscan reads them."""

from __future__ import annotations

import pytest

from tests.support.chain.api_client import ApiClient, send
from tests.support.chain.dev_chain import ALICE, LOGGER
from tests.support.rpc_client import RpcError


@pytest.fixture
def full(client: ApiClient) -> ApiClient:
    """Return a client of a chain whose block 1 has five transactions."""
    client.chain.schedule.seal_on_request()
    for nonce in range(5):
        send(client, nonce, to=LOGGER, wei=0, data=bytes([nonce]) * 10)
    client.chain.builder.seal()
    return client


def test_the_interface_has_a_version(client: ApiClient) -> None:
    assert client("ots_getApiLevel") == 8


def test_a_header_has_no_transactions(full: ApiClient) -> None:
    header = full("erigon_getHeaderByNumber", 1)
    assert header == full("eth_getHeaderByNumber", "0x1")
    assert "transactions" not in header
    assert full("erigon_getHeaderByNumber", "0x63") is None


def test_code_is_noticed(client: ApiClient) -> None:
    assert client("ots_hasCode", str(LOGGER), "latest") is True
    assert client("ots_hasCode", str(ALICE), 0) is False


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
    assert [it["hash"] for it in shown["fullblock"]["transactions"]] == [
        block["transactions"][position]["hash"] for position in positions
    ]
    assert shown["fullblock"]["transactionCount"] == 5
    assert [len(it["input"]) for it in shown["fullblock"]["transactions"]] == [10] * len(positions)
    assert [it["logs"] for it in shown["receipts"]] == [None] * len(positions)


def test_pages_are_bounded(full: ApiClient) -> None:
    assert full("ots_getBlockTransactions", 99, 0, 5) is None
    with pytest.raises(RpcError, match="a page has at most 1000 transactions") as rejection:
        full("ots_getBlockTransactions", 1, 0, 1_001)
    assert rejection.value.code == -32602
