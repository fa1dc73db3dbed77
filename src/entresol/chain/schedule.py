"""When blocks are sealed: as transactions come, at an interval, or on request."""

from __future__ import annotations

from enum import StrEnum

from entresol.errors import InvalidInterval


class Mining(StrEnum):
    """What makes a chain seal a block by itself."""

    AUTO = "auto"
    """A transaction that waits."""
    INTERVAL = "interval"
    """The time."""
    MANUAL = "manual"
    """Nothing."""


class Schedule:
    """Says whether a block is due.

    Remembers: the mode, and when the next block of an interval is due. Persists: nothing.
    """

    def __init__(self) -> None:
        self.mode = Mining.AUTO
        self.interval_seconds = 0.0
        self._due = 0.0

    def seal_at_once(self) -> None:
        """Seal as soon as a transaction waits."""
        self.mode = Mining.AUTO

    def seal_on_request(self) -> None:
        """Seal nothing unasked."""
        self.mode = Mining.MANUAL

    def seal_every(self, seconds: float, now: float) -> None:
        """Seal a block every so many seconds, the first one that long after `now`."""
        if not 0 < seconds < float("inf"):
            raise InvalidInterval(seconds)
        self.mode = Mining.INTERVAL
        self.interval_seconds = seconds
        self._due = now + seconds

    def is_due(self, now: float) -> bool:
        """Say whether the time for a block has come, and if so wait for the next time.

        Who comes late makes one block, not those that were missed.
        """
        if self.mode is not Mining.INTERVAL or now < self._due:
            return False
        self._due = max(self._due + self.interval_seconds, now)
        return True
