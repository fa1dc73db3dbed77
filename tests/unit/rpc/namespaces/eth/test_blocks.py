"""Blocks, headers and uncles over JSON-RPC."""

from __future__ import annotations

import pytest

from tests.support.chain.api_client import ApiClient, send
from tests.support.chain.dev_chain import NOBODY
from tests.support.hex_data import hexed


def test_a_block_is_the_same_by_number_tag_and_hash(client: ApiClient) -> None:
    send(client)
    block = client("eth_getBlockByNumber", "0x1", False)
    assert client("eth_getBlockByNumber", "latest", False) == block
    assert client("eth_getBlockByHash", block["hash"], False) == block
    assert client("eth_getHeaderByHash", block["hash"])["hash"] == block["hash"]


@pytest.mark.parametrize("number", ["0x64", "0xffffffffffffffff"])
def test_a_block_that_is_not_there_is_null(client: ApiClient, number: str) -> None:
    assert client("eth_getBlockByNumber", number, False) is None
    assert client("eth_getBlockReceipts", number) is None
    assert client("eth_getBlockTransactionCountByNumber", number) is None


@pytest.mark.parametrize("tag", ["safe", "finalized", "l1_committed", "precommitted"])
def test_confirmed_blocks_start_at_genesis(client: ApiClient, tag: str) -> None:
    send(client)
    assert client("eth_getBlockByNumber", tag, False)["number"] == "0x0"


def test_the_pending_block_has_the_pending_transactions(client: ApiClient) -> None:
    client.chain.schedule.seal_on_request()
    sent = send(client)
    pending = client("eth_getBlockByNumber", "pending", False)
    assert (pending["number"], pending["transactions"]) == ("0x1", [sent])
    assert client("eth_getBlockTransactionCountByNumber", "pending") == "0x1"
    assert client("eth_getBalance", hexed(NOBODY), "pending") == "0x1"
    assert client("eth_getBalance", hexed(NOBODY), "latest") == "0x0"


def test_no_block_has_uncles(client: ApiClient) -> None:
    genesis = client("eth_getBlockByNumber", "0x0", False)["hash"]
    assert client("eth_getUncleCountByBlockNumber", "0x0") == "0x0"
    assert client("eth_getUncleCountByBlockHash", genesis) == "0x0"
    assert client("eth_getUncleByBlockNumberAndIndex", "0x0", "0x0") is None
    assert client("eth_getUncleByBlockHashAndIndex", genesis, "0x0") is None
