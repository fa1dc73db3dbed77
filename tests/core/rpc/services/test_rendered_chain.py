"""Cached blocks and receipts are invalidated when the chain changes."""

from __future__ import annotations

import pytest
from msgspec import Raw

from entresol.offload import POLICY, Offload
from entresol.rpc.cache import ResponseKind
from tests.support.chain.api_client import ApiClient, send


def test_a_replaced_block_is_invalidated(client: ApiClient) -> None:
    snapshot = client("evm_snapshot")
    client("evm_mine", 5_000_000_000)
    before = client("eth_getBlockByNumber", "0x1", False)
    assert client("eth_getBlockByNumber", "0x1", False) == before
    assert client("eth_getBlockByHash", before["hash"], False) == before
    client("evm_revert", snapshot)
    assert client("eth_getBlockByNumber", "0x1", False) is None
    client("evm_mine", 5_000_000_001)
    assert client("eth_getBlockByNumber", "0x1", False)["timestamp"] == hex(5_000_000_001)
    assert client("eth_getBlockByHash", before["hash"], False) is None


@pytest.mark.parametrize("tag", ["latest", "pending"])
def test_a_tag_means_another_block_after_the_next_one(client: ApiClient, tag: str) -> None:
    first = client("eth_getBlockByNumber", tag, False)
    client("evm_mine")
    second = client("eth_getBlockByNumber", tag, False)
    assert int(second["number"], 16) == int(first["number"], 16) + 1


def test_a_long_response_that_is_cached_is_copied_by_a_thread(client: ApiClient) -> None:
    rendered = client.api.services.rendered
    send(client)
    short, long = Raw(b"[]"), Raw(b'"%b"' % bytes(POLICY.copied_bytes))
    for cached in (short, long):
        key, generation = (ResponseKind.RECEIPTS, 1), rendered._cache.generation
        rendered._cache.put(key, cached, block=1, generation=generation)
        found = rendered.block_receipts(1)
        assert (found.work() if isinstance(found, Offload) else found) is cached
        assert isinstance(found, Offload) == (cached is long)
