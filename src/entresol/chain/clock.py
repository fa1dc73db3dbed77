"""The clock of a chain: timestamps of blocks, moved by developers or not."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.errors import InvalidParams

if TYPE_CHECKING:
    from collections.abc import Callable


LATEST: Final = 2**63 - 1
"""The latest time that can be set; a header can hold twice as much, so later blocks always fit."""

MAX_INTERVAL: Final = 2**32
"""The longest interval between blocks, of 136 years: after the latest time there is room for 2^31 more."""


class ClockState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a clock."""

    offset: int = 0
    next_timestamp: int | None = None
    interval: int | None = None


class Clock:
    """Provides block timestamps, each later than the one before."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self.state = ClockState()
        self._before_change: tuple[Callable[[], object], ...] = ()
        self._others: tuple[Clock, ...] = ()

    def move_with(self, *others: Clock) -> None:
        """Set `others` to the time to which this one is set, from now on; a timestamp or interval of blocks stays its own."""
        self._others = others

    def before_change(self, callback: Callable[[], object]) -> None:
        """Have `callback` called before the clock is set; a block that is being written has the time from before."""
        self._before_change += (callback,)

    def follow(self, offset: int) -> None:
        """Take the offset of a clock that moves this one."""
        self._changing()
        self._update(offset=offset)

    def restart(self, now: Callable[[], float]) -> None:
        """Take `now` for the system time from here on, and forget what was set."""
        self._changing()
        self._now = now
        self.state = ClockState()

    def start_at(self, timestamp: int) -> None:
        """Let it be `timestamp` now unless something was set: the time of a fork goes on from its last block."""
        if self.state == ClockState():
            self.state = self.at(timestamp)

    def now(self) -> int:
        """Return the Unix time in seconds."""
        return int(self._now()) + self.state.offset

    def next_timestamp(self, parent: int) -> int:
        """Return the timestamp of a block sealed now on a parent with timestamp `parent`."""
        chosen, interval = self.state.next_timestamp, self.state.interval
        if chosen is None:
            chosen = self.now() if interval is None else parent + interval
        return max(chosen, parent + 1)

    def on_sealed(self, timestamp: int) -> None:
        """Continue from this timestamp if it was set for the block that is sealed now."""
        if self.state.next_timestamp is not None:
            self.state = self.at(timestamp)
            self._move_others()

    def increase(self, seconds: int, parent: int = 0) -> int:
        """Advance the time from the clock's or the head's, `parent`, whichever is later, and return the total offset."""
        self._changing()
        offset = max(self.state.offset, parent - int(self._now())) + seconds
        _check(int(self._now()) + offset)
        self._update(offset=offset)
        self._move_others()
        return offset

    def set_time(self, timestamp: int) -> None:
        """Set the current time."""
        self._changing()
        _check(timestamp)
        self.state = self.at(timestamp)
        self._move_others()

    def at(self, timestamp: int) -> ClockState:
        """Return the state of this clock if it is `timestamp` now; a block may be later than what can be set."""
        offset = timestamp - int(self._now())
        return msgspec.structs.replace(self.state, offset=offset, next_timestamp=None)

    def set_next_timestamp(self, timestamp: int, parent: int) -> None:
        """Set the timestamp of the next block; one that is set to that of its parent gets the next."""
        self._changing()
        if timestamp < parent:
            raise InvalidParams(
                f"Timestamp error: {timestamp:d} is lower than previous block's timestamp"
            )
        _check(timestamp)
        self._update(next_timestamp=timestamp)

    def set_interval(self, seconds: int | None) -> None:
        """Set how much later than its parent each block is; with None the time of the clock counts again."""
        self._changing()
        if seconds is not None and seconds > MAX_INTERVAL:
            raise InvalidParams(
                f"The timestamp is too big: {seconds:d}, and at most {MAX_INTERVAL:d}"
            )
        self._update(interval=seconds)

    def _move_others(self) -> None:
        for other in self._others:
            other.follow(self.state.offset)

    def _changing(self) -> None:
        for callback in self._before_change:
            callback()

    def _update(self, **fields: int | None) -> None:
        self.state = msgspec.structs.replace(self.state, **fields)


def _check(timestamp: int) -> None:
    if timestamp > LATEST:
        raise InvalidParams(f"The timestamp is too big: {timestamp:d}, and at most {LATEST:d}")
