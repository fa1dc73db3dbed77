"""What the next block is built with beside its parent: edits of the state, settings and the clock."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import msgspec

from entresol._native import Overlay
from entresol.errors import TimestampTooHigh, TimestampTooLow
from entresol.primitives.records import stored_changes
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol._native import Snapshot
    from entresol.execution.evm_env import BlockEnv
    from entresol.primitives.records import StoredChange


LATEST: Final = 2**63 - 1
"""The latest time that can be set; a header can hold twice as much, so later blocks always fit."""

MAX_INTERVAL: Final = 2**32
"""The longest interval between blocks, of 136 years: after the latest time there is room for 2^31 more."""


class PreparedEdit(NamedTuple):
    """A state and what an edit makes of it."""

    before: Snapshot | Overlay
    after: Overlay


class Edits:
    """The state edits since the last block.

    Remembers: the edited state, and about how many accounts it has. Persists: nothing until the next block, whose
    record contains the edits before its first transaction.
    """

    def __init__(self) -> None:
        self.state: Overlay | None = None
        """The state after the last block and the edits; None if there are none."""
        self.accounts = 0
        """How many accounts were edited, at most."""

    @property
    def exist(self) -> bool:
        """Whether there are any."""
        return self.state is not None

    def apply(
        self, latest: Snapshot, change: Callable[[Overlay], object], accounts: int = 1
    ) -> Overlay:
        """Apply `change` on top of `latest` and earlier edits, and return the state; an error changes nothing."""
        self.state = edited = self.edited(latest, change)
        self.accounts += accounts
        return edited

    def edited(self, latest: Snapshot, change: Callable[[Overlay], object]) -> Overlay:
        """Return the state that `apply` would lead to; any thread may call it."""
        edited = Overlay(latest) if self.state is None else self.state.fork()
        change(edited)
        return edited

    def stored(self) -> tuple[tuple[StoredChange, ...], tuple[bytes, ...]]:
        """Return the edits and their codes in the form of a record."""
        return stored_edits(self.state)

    def checkpoint(self) -> Overlay | None:
        """Return the edits for `restore`."""
        return None if self.state is None else self.state.fork()

    def restore(self, edited: Overlay | None, accounts: int = 0) -> None:
        """Restore what `checkpoint` returned, or take over an edit of some accounts; None drops all edits."""
        self.state = edited
        self.accounts = 0 if edited is None else self.accounts + accounts


def stored_edits(edited: Overlay | None) -> tuple[tuple[StoredChange, ...], tuple[bytes, ...]]:
    """Return edits and their codes in the form of a record; any thread may call it."""
    if edited is None:
        return (), ()
    changes = edited.changes()
    return stored_changes(changes), tuple(changes.codes.values())


class BlockSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The values that replace those of the chain's rules; None replaces nothing.

    `base_fee` and `prevrandao` are those of the next block only.
    """

    gas_limit: int | None = None
    beneficiary: Address | None = None
    base_fee: int | None = None
    prevrandao: Hash32 | None = None

    def apply(self, env: BlockEnv) -> BlockEnv:
        """Return the environment of the next block with these values."""
        if self == _NOTHING_SET:
            return env
        given: dict[str, Any] = msgspec.structs.asdict(self)
        changed = {name: value for name, value in given.items() if value is not None}
        return msgspec.structs.replace(env, **changed)

    def after_block(self) -> Self:
        """Return the settings without those of the next block only."""
        if self.base_fee is None and self.prevrandao is None:
            return self
        return msgspec.structs.replace(self, base_fee=None, prevrandao=None)


_NOTHING_SET: Final = BlockSettings()


class ClockState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a clock."""

    offset: int = 0
    next_timestamp: int | None = None
    interval: int | None = None


class Clock:
    """Provides block timestamps, each later than the one before.

    Remembers: its offset from the system time, the timestamp that was set for the next block, and the interval
    between blocks if one was set.
    """

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self.state = ClockState()
        self._before_change: tuple[Callable[[], object], ...] = ()

    def before_change(self, callback: Callable[[], object]) -> None:
        """Have `callback` called before the clock is set; a block that is being written has the time from before."""
        self._before_change += (callback,)

    def restart(self, now: Callable[[], float]) -> None:
        """Take `now` for the system time from here on, and forget what was set."""
        self._changing()
        self._now = now
        self.state = ClockState()

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

    def increase(self, seconds: int, parent: int = 0) -> int:
        """Advance the time and return the total offset.

        Blocks that are sealed within one second are a second apart, so the head, with timestamp `parent`, may be
        ahead of the clock. The time advances from whichever is later.
        """
        self._changing()
        offset = max(self.state.offset, parent - int(self._now())) + seconds
        _check(int(self._now()) + offset)
        self._update(offset=offset)
        return offset

    def set_time(self, timestamp: int) -> None:
        """Set the current time."""
        self._changing()
        _check(timestamp)
        self.state = self.at(timestamp)

    def at(self, timestamp: int) -> ClockState:
        """Return the state of this clock if it is `timestamp` now; a block may be later than what can be set."""
        offset = timestamp - int(self._now())
        return msgspec.structs.replace(self.state, offset=offset, next_timestamp=None)

    def set_next_timestamp(self, timestamp: int, parent: int) -> None:
        """Set the timestamp of the next block, whose parent has timestamp `parent`.

        A block is later than its parent, so one that is set to the same timestamp gets the next.
        """
        self._changing()
        if timestamp < parent:
            raise TimestampTooLow(timestamp)
        _check(timestamp)
        self._update(next_timestamp=timestamp)

    def set_interval(self, seconds: int | None) -> None:
        """Set how much later than its parent each block is; with None the time of the clock counts again."""
        self._changing()
        if seconds is not None and seconds > MAX_INTERVAL:
            raise TimestampTooHigh(seconds, MAX_INTERVAL)
        self._update(interval=seconds)

    def _changing(self) -> None:
        for callback in self._before_change:
            callback()

    def _update(self, **fields: int | None) -> None:
        self.state = msgspec.structs.replace(self.state, **fields)


def _check(timestamp: int) -> None:
    if timestamp > LATEST:
        raise TimestampTooHigh(timestamp, LATEST)
