"""The clock of a chain, which developers can set."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.errors import TimestampTooHigh, TimestampTooLow

if TYPE_CHECKING:
    from collections.abc import Callable

LATEST: Final = 2**63 - 1
"""The latest time that can be set; a header can hold twice as much, so later blocks always fit."""


class ClockState(msgspec.Struct, frozen=True):
    """The state of a clock."""

    offset: int = 0
    next_timestamp: int | None = None


class Clock:
    """Provides block timestamps, each later than the one before.

    Remembers: its offset from the system time, and the timestamp that was set for the next block.
    """

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self.state = ClockState()

    def now(self) -> int:
        """Return the Unix time in seconds."""
        return int(self._now()) + self.state.offset

    def next_timestamp(self, parent: int) -> int:
        """Return the timestamp of a block sealed now on a parent with timestamp `parent`."""
        chosen = self.state.next_timestamp
        return max(self.now() if chosen is None else chosen, parent + 1)

    def on_sealed(self, timestamp: int) -> None:
        """Continue from this timestamp if it was set for the block that is sealed now."""
        if self.state.next_timestamp is not None:
            self.state = ClockState(offset=timestamp - int(self._now()))

    def increase(self, seconds: int) -> int:
        """Advance the time and return the total offset."""
        offset = self.state.offset + seconds
        _check(self.now() + seconds)
        self.state = ClockState(offset, self.state.next_timestamp)
        return offset

    def set_time(self, timestamp: int) -> None:
        """Set the current time."""
        _check(timestamp)
        self.state = ClockState(offset=timestamp - int(self._now()))

    def set_next_timestamp(self, timestamp: int, parent: int) -> None:
        """Set the timestamp of the next block, whose parent has timestamp `parent`."""
        if timestamp <= parent:
            raise TimestampTooLow(timestamp, parent)
        _check(timestamp)
        self.state = ClockState(self.state.offset, timestamp)


def _check(timestamp: int) -> None:
    if timestamp > LATEST:
        raise TimestampTooHigh(timestamp, LATEST)
