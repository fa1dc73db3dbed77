"""Hashes of blocks at or below the anchor."""

from __future__ import annotations

from typing import Any

import pytest

from entresol.errors import RemoteMalformed
from entresol.features.fork.cache.fork_cache import ForkCache
from tests.support.fork.remote_node import (
    BLOCKS,
    OTHER_HASH,
    RemoteNode,
    block_hash,
    problem,
    wanted,
)


def test_hashes_of_blocks_are_known_proven_by_the_state_or_linked(node: RemoteNode) -> None:
    numbers = [0, 5, 40, BLOCKS - 1, BLOCKS]
    cache = ForkCache.memory()
    with node.fork(cache) as remote:
        assert wanted(remote.table, [("hash", number) for number in numbers]) is None
        assert cache.hashes(numbers) == {number: block_hash(node, number) for number in numbers}
        assert node.proxy.posts == 1


def test_a_history_contract_that_has_not_the_last_hash_is_not_asked(node: RemoteNode) -> None:
    node.proxy.errors["eth_getProof"] = {"code": -32601, "message": "there is no such method"}
    node.proxy.lies["eth_getCode"] = lambda _, __: "0x6000"
    cache = ForkCache.memory()
    with node.fork(cache) as remote:
        node.proxy.lies["eth_getStorageAt"] = lambda _, __: OTHER_HASH
        assert wanted(remote.table, [("hash", 5)]) is None
        assert cache.hashes([5]) == {5: block_hash(node, 5)}


def test_headers_that_are_not_linked_are_rejected(node: RemoteNode) -> None:
    node.proxy.lies["eth_getCode"] = lambda _, __: "0x"
    with node.fork() as remote:
        node.proxy.lies["eth_getBlockByNumber"] = lambda params, it: (
            it | {"hash": OTHER_HASH} if params[0] == hex(10) else it
        )
        assert "its child names" in problem(remote.table, [("hash", 5)], RemoteMalformed)


def test_a_header_without_a_parent_is_linked_to_none(node: RemoteNode) -> None:
    """As Hardhat has them, after blocks that it mines many at a time."""
    unlinked = {hex(BLOCKS), hex(BLOCKS - 1), hex(BLOCKS - 2), hex(10)}

    def without_parents(_: object, block: Any) -> Any:
        is_one = block is not None and block["number"] in unlinked
        return block | {"parentHash": f"0x{0:064x}"} if is_one else block

    node.proxy.lies |= {
        "eth_getCode": lambda _, __: "0x",
        "eth_getBlockByNumber": without_parents,
        "eth_getBlockByHash": without_parents,
    }
    numbers = [5, 9, 10, BLOCKS - 3, BLOCKS - 2, BLOCKS - 1]
    cache = ForkCache.memory()
    with node.fork(cache) as remote:
        assert wanted(remote.table, [("hash", number) for number in numbers]) is None
        assert cache.hashes(numbers) == {number: block_hash(node, number) for number in numbers}


def beginning_at(first: int, *, is_pruned: bool) -> Any:
    """Return what a chain says that has no block before `first`, which names a parent if the rest was dropped."""

    def lie(_: object, block: Any) -> Any:
        if block is None or int(block["number"], 16) < first:
            return None
        is_first = int(block["number"], 16) == first and not is_pruned
        return block | {"parentHash": f"0x{0:064x}"} if is_first else block

    return lie


@pytest.mark.parametrize("first", [10, BLOCKS - 3, BLOCKS])
def test_the_hash_of_a_block_below_the_first_one_is_zero(node: RemoteNode, first: int) -> None:
    lie = beginning_at(first, is_pruned=False)
    node.proxy.lies |= {
        "eth_getCode": lambda _, __: "0x",
        "eth_getBlockByNumber": lie,
        "eth_getBlockByHash": lie,
    }
    numbers = [1, first - 2, first - 1, first]
    cache = ForkCache.memory()
    with node.fork(cache) as remote:
        for _ in range(2):
            assert wanted(remote.table, [("hash", number) for number in numbers]) is None
        expected = dict.fromkeys(numbers[:-1], bytes(32)) | {first: block_hash(node, first)}
        assert cache.hashes(numbers) == expected


def test_a_remote_that_has_dropped_old_blocks_is_named(node: RemoteNode) -> None:
    node.proxy.lies |= {
        "eth_getCode": lambda _, __: "0x",
        "eth_getBlockByNumber": beginning_at(10, is_pruned=True),
    }
    with node.fork() as remote:
        assert "there is no block" in problem(remote.table, [("hash", 5)], RemoteMalformed)
