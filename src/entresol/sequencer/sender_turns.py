"""Turns of senders: what a sender sends next waits for what is still being filled in, verified or validated."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entresol.primitives.values import Address


class Turn:
    """The place of a transaction among those of its sender, which ends when nobody holds it any more."""

    __slots__ = ("_begun", "_holders", "_turns", "sender")

    def __init__(self, turns: SenderTurns, sender: Address) -> None:
        self.sender = sender
        self._turns = turns
        self._begun: asyncio.Future[None] | None = None
        self._holders = 1

    async def begin(self) -> None:
        """Wait until all turns of the sender before this one have ended."""
        if self._turns.is_first(self):
            return
        self._begun = asyncio.get_running_loop().create_future()
        await self._begun

    def on_first(self) -> None:
        """Begin, because the turn before this one has ended."""
        if self._begun is not None and not self._begun.done():
            self._begun.set_result(None)

    def hold(self) -> Turn:
        """Let it last until one more `release`, and return it."""
        self._holders += 1
        return self

    def release(self) -> None:
        """Let it end, unless there is another holder."""
        self._holders -= 1
        if not self._holders:
            self._turns.end(self)


class BegunTurn:
    """The context of a turn: it begins once the turn is taken and has come, and releases it at the end."""

    __slots__ = ("_reserved", "_turn")

    def __init__(self, reserved: Turn | asyncio.Future[Turn]) -> None:
        self._reserved = reserved
        self._turn: Turn

    async def __aenter__(self) -> Turn:
        reserved = self._reserved
        turn = reserved if isinstance(reserved, Turn) else await _taken(reserved)
        try:
            await turn.begin()
        except BaseException:
            turn.release()
            raise
        self._turn = turn
        return turn

    async def __aexit__(self, *_raised: object) -> None:
        self._turn.release()


async def _taken(reserved: asyncio.Future[Turn]) -> Turn:
    try:
        return await reserved
    except asyncio.CancelledError:
        if reserved.done() and not reserved.cancelled():
            reserved.result().release()
        raise


class SenderTurns:
    """The turns that have not ended, by sender and in the order in which they were taken.

    Remembers: them. Persists: nothing. Assumes: one event loop. Fails: never.
    """

    def __init__(self) -> None:
        self._turns: dict[Address, deque[Turn]] = {}

    def __len__(self) -> int:
        """Return how many senders have a turn."""
        return len(self._turns)

    def count(self, sender: Address) -> int:
        """Return how many turns of a sender have not ended."""
        return len(self._turns.get(sender, ()))

    def take(self, sender: Address) -> Turn:
        """Return the last turn of a sender; its first holder has to release it."""
        turn = Turn(self, sender)
        self._turns.setdefault(sender, deque()).append(turn)
        return turn

    def is_first(self, turn: Turn) -> bool:
        """Return whether all turns of its sender before this one have ended."""
        return self._turns[turn.sender][0] is turn

    def end(self, turn: Turn) -> None:
        """Remove a turn, and begin the one that is first then."""
        turns = self._turns[turn.sender]
        was_first = turns[0] is turn
        turns.remove(turn)
        if not turns:
            del self._turns[turn.sender]
        elif was_first:
            turns[0].on_first()
