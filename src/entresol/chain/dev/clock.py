"""The time of a chain, which developers may move."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.errors import TimestampTooHigh, TimestampTooLow

if TYPE_CHECKING:
    from collections.abc import Callable

LATEST: Final = 2**63 - 1
"""The latest time that can be set. A header has room for twice as much, so blocks can always follow."""


class ClockState(msgspec.Struct, frozen=True):
    """Everything a clock remembers."""

    offset: int = 0
    next_timestamp: int | None = None


class Clock:
    """Gives each block its timestamp, always later than the one before.

    Remembers: how far it was moved, and the timestamp that was ordered for the next block.
    """

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self.state = ClockState()

    def now(self) -> int:
        """Return the time in seconds since 1970."""
        return int(self._now()) + self.state.offset

    def next_timestamp(self, parent: int) -> int:
        """Return the timestamp that a block after one of time `parent` would have now."""
        ordered = self.state.next_timestamp
        return max(self.now() if ordered is None else ordered, parent + 1)

    def on_sealed(self, timestamp: int) -> None:
        """Note that a block got this timestamp: an order is carried out, and time goes on from it."""
        if self.state.next_timestamp is not None:
            self.state = ClockState(offset=timestamp - int(self._now()))

    def increase(self, seconds: int) -> int:
        """Move the time forward, and return by how much it is moved in all."""
        offset = self.state.offset + seconds
        _check(self.now() + seconds)
        self.state = ClockState(offset, self.state.next_timestamp)
        return offset

    def set_time(self, timestamp: int) -> None:
        """Let it be `timestamp` now."""
        _check(timestamp)
        self.state = ClockState(offset=timestamp - int(self._now()))

    def set_next_timestamp(self, timestamp: int, parent: int) -> None:
        """Let the block after one of time `parent` have this timestamp."""
        if timestamp <= parent:
            raise TimestampTooLow(timestamp, parent)
        _check(timestamp)
        self.state = ClockState(self.state.offset, timestamp)


def _check(timestamp: int) -> None:
    if timestamp > LATEST:
        raise TimestampTooHigh(timestamp, LATEST)
