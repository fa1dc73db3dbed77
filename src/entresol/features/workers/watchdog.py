"""Notice workers whose event loop stands still: they still get connections, and serve none of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Final, Generic, NamedTuple, TypeVar

_W = TypeVar("_W", bound=Hashable)

HEARTBEAT_SECONDS: Final = 1.0
"""How often a worker beats."""
CHECK_SECONDS: Final = 1.0
"""How often its producer looks."""
LATE_SECONDS: Final = 2.0
"""After so long a time between two checks the producer itself, or the whole machine, stood still."""
SILENT_SECONDS: Final = 2.0
"""A worker that is silent for longer is reported."""
STARTING: Final = 0
"""The heartbeats of a worker that opens the chains."""
STOPPED: Final = -1
"""The heartbeats of a worker that a signal has stopped before it could."""


class _Observed(NamedTuple):
    """The heartbeats of a worker at the last check, and for how long there were no more."""

    heartbeats: int
    silent: float = 0.0


class Watchdog(Generic[_W]):
    """Measures how long workers are silent, in time in which the producer itself ran.

    One that has not beaten yet has longer, unless it is stopped: it opens the chains first. A check that comes late
    counts for nothing: what stopped the producer, as a debugger, a suspended machine or a lack of memory, may have
    stopped the workers, too. Remembers: the heartbeats at the last check. Assumes: checks every `CHECK_SECONDS`.
    """

    def __init__(self, limit: float, start_limit: float) -> None:
        self._limit = limit
        self._start_limit = max(limit, start_limit)
        self._observed: dict[_W, _Observed] = {}
        self._checked_at: float | None = None

    @property
    def silent(self) -> int:
        """How many workers are silent; those that have not beaten yet are starting."""
        observed = self._observed.values()
        return sum(
            worker.heartbeats != STARTING and worker.silent > SILENT_SECONDS for worker in observed
        )

    def check(self, heartbeats: Mapping[_W, int], now: float) -> list[_W]:
        """Return the workers that were silent for too long; each has its time anew."""
        elapsed = 0.0 if self._checked_at is None else now - self._checked_at
        counted = elapsed if elapsed < LATE_SECONDS else 0.0
        self._checked_at = now
        self._observed = {
            worker: self._observe(worker, beats, counted) for worker, beats in heartbeats.items()
        }
        hung = [worker for worker, observed in self._observed.items() if self._is_hung(observed)]
        for worker in hung:
            self._observed[worker] = _Observed(heartbeats[worker])
        return hung

    def _is_hung(self, observed: _Observed) -> bool:
        return observed.silent >= (
            self._start_limit if observed.heartbeats == STARTING else self._limit
        )

    def _observe(self, worker: _W, heartbeats: int, counted: float) -> _Observed:
        before = self._observed.get(worker)
        if before is None or before.heartbeats != heartbeats:
            return _Observed(heartbeats)
        return _Observed(heartbeats, before.silent + counted)
