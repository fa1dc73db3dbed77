"""The events of a chain's batches, put together from the logs of L1."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest

from entresol.errors import LayerOneMismatch
from entresol.l1.availability.batch_data import EventPosition
from entresol.l1.contracts import ZkChain
from entresol.l1.layer_one import LayerOne
from entresol.primitives.values import Hash32
from entresol.rollup.derivation.l1_events import (
    MAX_NUMBER,
    BatchCommitted,
    BatchesReverted,
    BatchesVerified,
    BatchEvent,
    BatchExecuted,
    BatchReverts,
    L1Events,
)
from tests.support.derivation.scripted_l1 import CONTRACT, ScriptedLayerOne


def events(l1: ScriptedLayerOne, after: EventPosition | None = None) -> list[BatchEvent]:
    async def read() -> list[BatchEvent]:
        contract = ZkChain(cast("LayerOne", l1), CONTRACT)
        return [it async for it in L1Events(contract).after(after, len(l1.blocks) - 1)]

    return asyncio.run(read())


def position(block: int, index: int) -> EventPosition:
    return EventPosition(block, Hash32.zero(), index)


def test_the_logs_of_a_commit_are_one_event() -> None:
    l1 = ScriptedLayerOne()
    block = l1.commit(1, blocks=3)
    (event,) = events(l1)
    assert isinstance(event, BatchCommitted)
    claim = event.claim
    assert (claim.number, claim.first_block, claim.last_block, claim.data) == (1, 1, 3, b"batch 1 ")
    assert event.position == EventPosition(block, l1.blocks[block][0], 2)


def test_events_come_in_the_order_of_logs() -> None:
    l1 = ScriptedLayerOne()
    l1.deposit(0)
    l1.settle(1)
    l1.commit(2)
    l1.revert(1)
    kinds = [type(event) for event in events(l1)]
    assert kinds == [
        BatchCommitted,
        BatchesVerified,
        BatchExecuted,
        BatchCommitted,
        BatchesReverted,
    ]


def test_events_up_to_a_position_are_left_out() -> None:
    l1 = ScriptedLayerOne()
    logs = [*l1.commit_logs(l1.batch(1))]
    block = l1.mine(*logs)
    l1.verify(0, 1)
    (event,) = events(l1, position(block, 2))
    assert isinstance(event, BatchesVerified)


@pytest.mark.parametrize(
    ("kept", "problem"),
    [
        ([0], "has data of batch 1, but its commit is missing"),
        ([0, 1], "has data of batch 1, but its commit is missing"),
        ([1], "the commit of these blocks is missing"),
        ([2], "the range of blocks of batch 1 is missing"),
        ([0, 2], "the range of blocks of batch 1 is missing"),
        ([0, 0, 1, 2], "has data of batch 1, but its commit is missing"),
        ([0, 1, 1, 2], "the commit of these blocks is missing"),
    ],
)
def test_a_commit_that_is_not_complete_is_named(kept: Sequence[int], problem: str) -> None:
    l1 = ScriptedLayerOne()
    logs = l1.commit_logs(l1.batch(1))
    l1.mine(*(logs[it] for it in kept))
    with pytest.raises(LayerOneMismatch, match=problem):
        events(l1)


def test_logs_of_a_commit_in_two_transactions_are_none() -> None:
    l1 = ScriptedLayerOne()
    logs = l1.commit_logs(l1.batch(1))
    l1.mine(*logs[:2])
    l1.mine(*logs[2:])
    with pytest.raises(LayerOneMismatch, match="the range of blocks of batch 1 is missing"):
        events(l1)


def test_a_commit_lasts_unless_a_later_revert_undoes_it() -> None:
    l1, reverts = ScriptedLayerOne(), BatchReverts()
    for number in (1, 2, 3, 4):
        l1.commit(number)
    first = l1.revert(3)
    l1.commit(4)
    second = l1.revert(1)
    for event in events(l1):
        if isinstance(event, BatchesReverted):
            reverts.add(event)
    assert reverts.last == 1
    assert reverts.last_after(position(1, 2)) == 1
    assert reverts.last_after(position(first, 1)) == 1
    assert reverts.last_after(position(second, 1)) == MAX_NUMBER
