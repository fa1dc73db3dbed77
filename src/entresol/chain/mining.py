"""When blocks are sealed: as transactions come or soon after, at an interval, or on request."""

from __future__ import annotations

from enum import StrEnum

from entresol.errors import InvalidInterval


class MiningMode(StrEnum):
    """What makes a chain seal a block by itself."""

    AUTO = "auto"
    """A transaction that waits."""
    DELAYED = "delayed"
    """A transaction that has waited for a while."""
    INTERVAL = "interval"
    """The time."""
    MANUAL = "manual"
    """Nothing."""


class MiningSchedule:
    """Says whether a block is due.

    Remembers: the mode, and when the next block is due by the time. Persists: nothing.
    """

    def __init__(self) -> None:
        self.mode = MiningMode.AUTO
        self.interval_seconds = 0.0
        self._due: float | None = None

    def seal_at_once(self) -> None:
        """Seal as soon as a transaction waits."""
        self.mode = MiningMode.AUTO

    def seal_after(self, seconds: float) -> None:
        """Seal so many seconds after a transaction began to wait, and what came meanwhile with it."""
        self._set_time(MiningMode.DELAYED, seconds)
        self._due = None

    def seal_on_request(self) -> None:
        """Seal nothing unasked."""
        self.mode = MiningMode.MANUAL

    def seal_every(self, seconds: float, now: float) -> None:
        """Seal a block every so many seconds, the first one that long after `now`."""
        self._set_time(MiningMode.INTERVAL, seconds)
        self._due = now + seconds

    def is_due(self, now: float, *, waiting: bool = False) -> bool:
        """Say whether the time for a block has come, and if so wait for the next time.

        `waiting` says whether a transaction waits. Who comes late makes one block, not those that were
        missed.
        """
        if self.mode is MiningMode.DELAYED:
            return self._is_ripe(now, waiting=waiting)
        if self.mode is not MiningMode.INTERVAL or self._due is None or now < self._due:
            return False
        self._due = max(self._due + self.interval_seconds, now)
        return True

    def _is_ripe(self, now: float, *, waiting: bool) -> bool:
        if waiting and self._due is None:
            self._due = now + self.interval_seconds
        if waiting and self._due is not None and now < self._due:
            return False
        self._due = None
        return waiting

    def _set_time(self, mode: MiningMode, seconds: float) -> None:
        if not 0 < seconds < float("inf"):
            raise InvalidInterval(seconds)
        self.mode = mode
        self.interval_seconds = seconds
