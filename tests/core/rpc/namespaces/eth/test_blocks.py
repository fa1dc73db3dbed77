"""Blocks, headers and uncles over JSON-RPC."""

from __future__ import annotations

import pytest

from tests.support.chain.api_client import ApiClient, send


@pytest.mark.parametrize("tag", ["safe", "finalized", "l1_committed", "precommitted"])
def test_confirmed_blocks_start_at_genesis(client: ApiClient, tag: str) -> None:
    send(client)
    assert client("eth_getBlockByNumber", tag, False)["number"] == "0x0"


def test_no_block_has_uncles(client: ApiClient) -> None:
    genesis = client("eth_getBlockByNumber", "0x0", False)["hash"]
    assert client("eth_getUncleCountByBlockNumber", "0x0") == "0x0"
    assert client("eth_getUncleCountByBlockHash", genesis) == "0x0"
    assert client("eth_getUncleByBlockNumberAndIndex", "0x0", "0x0") is None
    assert client("eth_getUncleByBlockHashAndIndex", genesis, "0x0") is None
