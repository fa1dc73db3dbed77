"""The requests that Otterscan sends, page by page, with block numbers as JSON integers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.chain.api_client import FACTORY, OUTER, TracedChain, created_by, traced_chain
from tests.support.chain.dev_chain import ALICE

PAGE_SIZE = 25


@pytest.fixture(scope="module")
def chain() -> Iterator[TracedChain]:
    with traced_chain() as chain:
        yield chain


def test_the_probe_finds_a_node_that_otterscan_supports(chain: TracedChain) -> None:
    call = chain.client
    assert int(call("eth_blockNumber"), 16) == 4
    assert int(call("eth_chainId"), 16) == 270
    assert call("erigon_getHeaderByNumber", "latest")["number"] == "0x4"
    assert call("ots_getApiLevel") >= 8


def test_the_front_page_shows_recent_blocks(chain: TracedChain) -> None:
    for number in range(4, 0, -1):
        details = chain.client("ots_getBlockDetails", number)
        block = details["block"]
        assert int(block["number"], 16) == number
        assert {"timestamp", "miner", "gasUsed", "gasLimit", "transactionCount"} <= block.keys()
        assert int(details["totalFees"], 16) > 0
    assert chain.client("eth_getBlockByNumber", "finalized", False)["number"]


def test_a_block_lists_its_transactions(chain: TracedChain) -> None:
    page = chain.client("ots_getBlockTransactions", 1, 0, PAGE_SIZE)
    (shown,) = page["fullblock"]["transactions"]
    (receipt,) = page["receipts"]
    assert shown["hash"] == receipt["transactionHash"] == chain.nested
    assert page["fullblock"]["transactionCount"] == 1


@pytest.mark.parametrize("name", ["nested", "failed", "creating", "transfer"])
def test_a_transaction_has_all_its_tabs(chain: TracedChain, name: str) -> None:
    call, hash_ = chain.client, getattr(chain, name)
    shown, receipt = (
        call("eth_getTransactionByHash", hash_),
        call("eth_getTransactionReceipt", hash_),
    )
    block = call("ots_getBlockDetails", int(shown["blockNumber"], 16))
    assert block["block"]["hash"] == receipt["blockHash"]
    assert isinstance(call("ots_hasCode", shown["to"], int(shown["blockNumber"], 16)), bool)
    assert (call("ots_getTransactionError", hash_) != "0x") is (receipt["status"] == "0x0")
    assert isinstance(call("ots_getInternalOperations", hash_), list)
    frames: list[dict[str, Any]] = call("ots_traceTransaction", hash_)
    assert frames[0]["depth"] == 0
    assert frames[0].keys() == {"type", "depth", "from", "to", "value", "input", "output"}
    assert call("trace_replayTransaction", hash_, ["stateDiff"])["stateDiff"]
    assert "ops" in call("trace_replayTransaction", hash_, ["vmTrace"])["vmTrace"]


def test_an_address_has_its_pages(chain: TracedChain) -> None:
    call, address = chain.client, str(ALICE)
    assert call("ots_hasCode", address, "latest") is False
    newest = call("ots_searchTransactionsBefore", address, 0, PAGE_SIZE)
    assert (len(newest["txs"]), newest["firstPage"], newest["lastPage"]) == (4, True, True)
    oldest = call("ots_searchTransactionsAfter", address, 0, PAGE_SIZE)
    assert oldest["txs"] == newest["txs"]
    for nonce in range(4):
        found = call("ots_getTransactionBySenderAndNonce", address, nonce)
        assert newest["txs"][3 - nonce]["hash"] == found


def test_a_contract_has_its_creator_and_its_code(chain: TracedChain) -> None:
    call, created = chain.client, str(created_by(FACTORY, 0))
    assert call("ots_hasCode", created, "latest") is True
    assert call("ots_getContractCreator", created)["hash"] == chain.creating
    assert call("eth_getCode", created, "latest") == "0x00"
    assert call("ots_getContractCreator", str(OUTER)) is None
