"""Roots of L1 are rebuilt from its logs, and an L1 that lies in any field is found out."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from entresol.errors import InteropRootsMismatch, LayerOneMismatch
from entresol.l1.layer_one import L1Log
from entresol.primitives.values import Hash32
from entresol.rollup.interop.root_reader import RootRange, RootReader
from entresol.rollup.interop.root_trees import ChainTree, MessageTrees
from tests.support.ecosystem.roots_layer_one import (
    L1_CHAIN_ID,
    RootsLayerOne,
    added,
    appended,
    changed,
)

OWN, OTHER, THIRD = 270, 271, 272


def read(l1: RootsLayerOne, chain_id: int = OWN) -> RootRange:
    async def whole() -> RootRange:
        reader = RootReader(l1.contract(), L1_CHAIN_ID, chain_id)
        first, trees = await reader.begin()
        return await reader.read(trees, first + 1, l1.number)

    return asyncio.run(whole())


def played() -> RootsLayerOne:
    """Return an L1 with batches of two chains in one block, and a chain that is added after them."""
    l1 = RootsLayerOne(OWN, OTHER)
    l1.mine(appended(OTHER, 1))
    l1.mine()
    l1.mine(appended(OWN, 1), appended(OTHER, 2), added(THIRD))
    l1.mine(appended(OWN, 2))
    return l1


def test_the_trees_are_those_of_the_contract() -> None:
    l1 = played()
    found = read(l1)
    assert found.trees.root() == l1.books.root()
    assert [chain.chain_id for chain in found.trees.chains] == [OWN, OTHER, THIRD]


def test_the_root_of_each_block_in_which_another_chain_has_appended_a_batch_is_imported() -> None:
    l1 = played()
    roots = [(root.block_number, root.root) for root in read(l1).roots]
    assert roots == [(number, l1.blocks[number].books.root()) for number in (1, 3)]
    others = [root.block_number for root in read(l1, OTHER).roots]
    assert others == [3, 4]


def test_roots_of_before_the_registration_are_not_imported() -> None:
    l1 = RootsLayerOne(OTHER)
    l1.mine(appended(OTHER, 1))
    l1.mine(added(OWN))
    l1.mine(appended(OTHER, 2))
    assert [root.block_number for root in read(l1).roots] == [3]


def test_chains_of_a_contract_that_is_older_than_this_chain_are_read_from_its_beginning() -> None:
    l1 = RootsLayerOne()
    l1.mine(added(OTHER))
    l1.mine(appended(OTHER, 1))
    l1.mine(added(OWN))
    l1.mine(appended(OTHER, 2))

    async def whole() -> RootRange:
        reader = RootReader(l1.contract(first_block=3), L1_CHAIN_ID, OWN)
        first, trees = await reader.begin()
        assert first == 0
        return await reader.read(trees, first + 1, l1.number)

    found = asyncio.run(whole())
    assert found.trees.root() == l1.books.root()
    assert [root.block_number for root in found.roots] == [4]


# Lies


def flipped(value: bytes, at: int) -> bytes:
    changed_byte = value[at] ^ 1
    return value[:at] + bytes([changed_byte]) + value[at + 1 :]


def lies() -> list[Any]:
    """Return every field of every log with one bit changed, and logs that are gone, doubled or moved."""
    logs = [log for block in played().blocks for log in block.logs]
    found = []
    for index, log in enumerate(logs):
        name = f"log {index}"
        for position, topic in enumerate(log.topics):
            topics = [*log.topics]
            topics[position] = Hash32(flipped(topic, 31))
            found.append(
                pytest.param(index, {"topics": tuple(topics)}, id=f"{name} topic {position}")
            )
            fewer = (*log.topics[:position], *log.topics[position + 1 :])
            found.append(pytest.param(index, {"topics": fewer}, id=f"{name} without {position}"))
        for at in range(31, len(log.data), 32):
            data = flipped(log.data, at)
            found.append(pytest.param(index, {"data": data}, id=f"{name} data {at // 32}"))
        found += [
            pytest.param(index, {"data": log.data + bytes(32)}, id=f"{name} longer"),
            pytest.param(index, {"block_hash": Hash32(b"\7" * 32)}, id=f"{name} hash"),
            pytest.param(index, {"block_number": log.block_number + 1}, id=f"{name} later"),
            pytest.param(index, {"block_number": log.block_number + 9}, id=f"{name} outside"),
        ]
        if log.data:
            found.append(pytest.param(index, {"data": log.data[:-1]}, id=f"{name} shorter"))
    return found


@pytest.mark.parametrize(("index", "fields"), lies())
def test_a_log_with_another_value_in_any_field_is_rejected(
    index: int, fields: dict[str, Any]
) -> None:
    l1 = played()
    l1.lie = lambda logs: [
        changed(log, **fields) if at == index else log for at, log in enumerate(logs)
    ]
    with pytest.raises(LayerOneMismatch):
        read(l1)


@pytest.mark.parametrize(
    "index", range(len([log for block in played().blocks for log in block.logs]))
)
def test_a_log_that_is_missing_or_doubled_is_rejected(index: int) -> None:
    l1 = played()
    for lie in (
        lambda logs: [*logs[:index], *logs[index + 1 :]],
        lambda logs: [*logs[: index + 1], *logs[index:]],
    ):
        l1.lie = lie
        with pytest.raises(InteropRootsMismatch):
            read(l1)


def test_all_logs_of_a_block_that_are_missing_or_moved_are_rejected() -> None:
    for number in (1, 3, 4):
        l1 = played()
        l1.lie = lambda logs, number=number: [log for log in logs if log.block_number != number]
        with pytest.raises(InteropRootsMismatch):
            read(l1)


def test_an_append_that_is_moved_to_another_block_with_all_its_fields_is_rejected() -> None:
    l1 = RootsLayerOne(OWN, OTHER)
    l1.mine(appended(OTHER, 1))
    l1.mine()

    def moved(logs: list[L1Log]) -> list[L1Log]:
        block_hash = l1.blocks[2].block.hash
        logs = [changed(log, block_number=2, block_hash=block_hash) for log in logs]
        topics = (*logs[2].topics[:2], Hash32((2).to_bytes(32)), logs[2].topics[3])
        return [*logs[:2], changed(logs[2], topics=topics)]

    l1.lie = moved
    with pytest.raises(InteropRootsMismatch, match="for block 2"):
        read(l1)


@pytest.mark.parametrize("lie", [(b"\7" * 32, None), (None, 5), (bytes(32), 0)])
def test_a_contract_that_has_another_root_or_time_for_a_block_is_rejected(
    lie: tuple[bytes | None, int | None],
) -> None:
    l1 = played()

    def historical(number: int) -> tuple[bytes, int]:
        root, timestamp = l1.blocks[number].root
        return (root if lie[0] is None else lie[0], timestamp if lie[1] is None else lie[1])

    l1.historical = historical
    with pytest.raises(InteropRootsMismatch, match="for block 1"):
        read(l1)


def test_a_contract_that_has_another_root_over_all_chains_is_rejected() -> None:
    l1 = RootsLayerOne(OWN, OTHER)
    l1.mine()
    l1.aggregated = b"\7" * 32
    with pytest.raises(LayerOneMismatch, match="07070707"):
        read(l1)


def test_an_l1_that_has_no_old_states_is_compared_by_what_it_has_now() -> None:
    l1 = played()
    for _ in range(100):
        l1.mine()
    l1.states = 1

    async def old() -> RootRange:
        reader = RootReader(l1.contract(), L1_CHAIN_ID, OWN)

        trees = MessageTrees(L1_CHAIN_ID, (ChainTree(OWN), ChainTree(OTHER)))
        return await reader.read(trees, 1, 10)

    assert asyncio.run(old()).trees.root() == l1.books.root()
    l1.historical = lambda _number: (b"\7" * 32, 5)
    with pytest.raises(InteropRootsMismatch):
        asyncio.run(old())


def test_a_recent_block_whose_state_is_not_there_is_read_later() -> None:
    l1 = played()
    reader = RootReader(l1.contract(), L1_CHAIN_ID, OWN)

    async def whole() -> None:
        first, trees = await reader.begin()
        l1.states = 0
        await reader.read(trees, first + 1, l1.number)

    with pytest.raises(LayerOneMismatch, match="no state of block 4"):
        asyncio.run(whole())
