"""Mining modes: automine, delayed, at an interval, both together, or manual."""

from __future__ import annotations

import random
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.errors import InvalidParams

if TYPE_CHECKING:
    from collections.abc import Callable

SHORTEST_SECONDS: Final = 0.001
"""The shortest interval, if the shortest time of a random one is zero."""


class MiningMode(StrEnum):
    """The trigger for sealing a block."""

    AUTO = "auto"
    """A pending transaction."""
    DELAYED = "delayed"
    """A transaction that has been pending for some seconds."""
    INTERVAL = "interval"
    """A timer."""
    MIXED = "mixed"
    """A timer, and a pending transaction."""
    MANUAL = "manual"
    """Only a request."""

    @property
    def is_automine(self) -> bool:
        """Whether a pending transaction is sealed at once."""
        return self in (MiningMode.AUTO, MiningMode.MIXED)


class MiningState(NamedTuple):
    """A mode with its times, to restore it."""

    mode: MiningMode
    interval_seconds: float
    spread: float


class MiningSchedule:
    """The mode of a chain, which every sequencer reads, and when a block is due by it."""

    def __init__(self, on_mode: Callable[[MiningMode], None] = lambda _mode: None) -> None:
        """Begin with automine; `on_mode` is called with that, and with each mode after it."""
        self._on_mode = on_mode
        self.mode = MiningMode.AUTO
        self.interval_seconds = 0.0
        self._spread = 0.0
        self._due: float | None = None

    @property
    def mode(self) -> MiningMode:
        """The trigger of the next block."""
        return self._mode

    @mode.setter
    def mode(self, mode: MiningMode) -> None:
        self._mode = mode
        self._on_mode(mode)

    @property
    def is_automine(self) -> bool:
        """Whether a pending transaction is sealed at once."""
        return self._mode.is_automine

    @property
    def has_timer(self) -> bool:
        """Whether blocks are sealed at an interval."""
        return self.mode in (MiningMode.INTERVAL, MiningMode.MIXED)

    @property
    def state(self) -> MiningState:
        """The values that `restore` needs to set the current mode again."""
        return MiningState(self.mode, self.interval_seconds, self._spread)

    def restore(self, state: MiningState, now: float) -> None:
        """Set a mode again, if there is another one; a timer starts anew."""
        if state != self.state:
            self.mode, self.interval_seconds, self._spread = state
            self._due = now + self._next_interval() if self.has_timer else None

    def seal_at_once(self) -> None:
        """Seal as soon as a transaction is pending."""
        self.mode = MiningMode.AUTO

    def seal_after(self, seconds: float) -> None:
        """Seal `seconds` after a transaction became pending, together with later ones."""
        self._set_time(MiningMode.DELAYED, seconds)
        self._due = None

    def seal_on_request(self) -> None:
        """Seal on request only."""
        self.mode = MiningMode.MANUAL

    def seal_every(
        self, seconds: float, now: float, *, longest: float | None = None, mixed: bool = False
    ) -> None:
        """Seal a block every `seconds`, or after a random time up to `longest`; `mixed` also when a transaction is pending."""
        mode = MiningMode.MIXED if mixed else MiningMode.INTERVAL
        self._set_time(mode, max(seconds, SHORTEST_SECONDS) if longest else seconds)
        self._spread = 0.0 if longest is None else max(longest - seconds, 0.0)
        self._due = now + self._next_interval()

    def is_due(self, now: float, *, has_work: bool = False) -> bool:
        """Return whether a block is due, and if so schedule the next one; a late call makes one due, not each that was missed."""
        if self.mode is MiningMode.DELAYED:
            return self._is_delay_over(now, has_work=has_work)
        if not self.has_timer or self._due is None or now < self._due:
            return False
        self._due = max(self._due + self._next_interval(), now)
        return True

    def _next_interval(self) -> float:
        return self.interval_seconds + random.uniform(0.0, self._spread)  # noqa: S311 - no secret

    def _is_delay_over(self, now: float, *, has_work: bool) -> bool:
        if has_work and self._due is None:
            self._due = now + self.interval_seconds
        if has_work and self._due is not None and now < self._due:
            return False
        self._due = None
        return has_work

    def _set_time(self, mode: MiningMode, seconds: float) -> None:
        if not 0 < seconds < float("inf"):
            raise InvalidParams(f"an interval is a positive number of seconds, got {seconds}")
        self.mode = mode
        self.interval_seconds = seconds
