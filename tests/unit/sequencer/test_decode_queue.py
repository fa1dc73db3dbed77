"""Turns: what a sender sends next waits for what takes longer, and others do not."""

from __future__ import annotations

import asyncio

from entresol.sequencer.decode_queue import SenderTurns, Turn
from tests.support.chain.dev_chain import ALICE, BOB


async def _begin(turn: Turn, name: str, begun: list[str]) -> None:
    await turn.begin()
    begun.append(name)


async def _soon() -> None:
    """Let everything run that can."""
    for _ in range(3):
        await asyncio.sleep(0)


def test_the_turns_of_a_sender_begin_one_after_the_other() -> None:
    async def scenario() -> list[str]:
        turns, begun = SenderTurns(), list[str]()
        taken = [turns.take(ALICE) for _ in range(3)]
        tasks = [
            asyncio.create_task(_begin(turn, name, begun))
            for turn, name in zip(reversed(taken), ("third", "second", "first"), strict=True)
        ]
        for expected, turn in enumerate(taken, 1):
            await _soon()
            assert len(begun) == expected
            turn.release()
        await asyncio.gather(*tasks)
        assert not turns
        return begun

    assert asyncio.run(scenario()) == ["first", "second", "third"]


def test_a_turn_does_not_delay_another_sender() -> None:
    async def scenario() -> list[str]:
        turns, begun = SenderTurns(), list[str]()
        turns.take(ALICE)
        await _begin(turns.take(BOB), "bob", begun)
        return begun

    assert asyncio.run(scenario()) == ["bob"]


def test_a_turn_lasts_until_all_have_released_it() -> None:
    turns = SenderTurns()
    turn = turns.take(ALICE)
    turn.hold()
    turn.release()
    assert turns.count(ALICE) == 1
    turn.release()
    assert turns.count(ALICE) == 0


def test_a_turn_that_is_given_up_does_not_begin_the_next_too_early() -> None:
    async def scenario() -> list[str]:
        turns, begun = SenderTurns(), list[str]()
        first, given_up, last = (turns.take(ALICE) for _ in range(3))
        task = asyncio.create_task(_begin(last, "last", begun))
        given_up.release()
        await _soon()
        assert begun == []
        first.release()
        await task
        return begun

    assert asyncio.run(scenario()) == ["last"]
