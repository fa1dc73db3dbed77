"""Turns: what a sender sends next waits for what takes longer, and others do not."""

from __future__ import annotations

import asyncio

from entresol.primitives.values import Address
from entresol.sequencer.decode_queue import SenderTurns, Turn
from tests.support.chain.dev_chain import ALICE, BOB


class Turns:
    """Turns of senders that begin in tasks, and end when a test says so."""

    def __init__(self) -> None:
        self.turns = SenderTurns()
        self.begun: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def reserve(self, name: str, sender: Address = ALICE) -> Turn:
        turn = Turn(self.turns, sender)
        self._ends[name] = asyncio.Event()
        self._tasks[name] = asyncio.create_task(self._live(turn, name))
        return turn

    def take(self, name: str, sender: Address = ALICE) -> None:
        self.reserve(name, sender).take()

    async def end(self, name: str) -> None:
        self._ends[name].set()
        await self._tasks[name]

    async def give_up(self, name: str) -> None:
        self._tasks[name].cancel()
        await asyncio.wait([self._tasks[name]])

    async def _live(self, turn: Turn, name: str) -> None:
        async with turn:
            self.begun.append(name)
            await self._ends[name].wait()


async def soon() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def test_the_turns_of_a_sender_begin_one_after_the_other() -> None:
    turns, names = Turns(), ["first", "second", "third"]
    for name in names:
        turns.take(name)
    for count, name in enumerate(names, 1):
        await soon()
        assert turns.begun == names[:count]
        await turns.end(name)
    assert turns.turns.count(ALICE) == 0


async def test_a_turn_does_not_delay_another_sender() -> None:
    turns = Turns()
    turns.take("alice")
    turns.take("bob", BOB)
    await soon()
    assert turns.begun == ["alice", "bob"]
    await turns.end("alice")
    await turns.end("bob")


async def test_a_turn_that_is_given_up_does_not_begin_the_next_too_early() -> None:
    turns = Turns()
    for name in ("first", "given up", "last"):
        turns.take(name)
    await soon()
    await turns.give_up("given up")
    await soon()
    assert turns.begun == ["first"]
    await turns.end("first")
    await soon()
    assert turns.begun == ["first", "last"]
    await turns.end("last")


async def test_a_turn_that_is_reserved_begins_once_it_is_taken_unless_it_was_given_up() -> None:
    turns = Turns()
    kept, given_up = turns.reserve("kept"), turns.reserve("given up")
    await soon()
    assert turns.begun == []
    await turns.give_up("given up")
    given_up.take()
    kept.take()
    await soon()
    assert turns.begun == ["kept"]
    await turns.end("kept")
    assert turns.turns.count(ALICE) == 0
