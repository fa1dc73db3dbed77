"""Notice workers whose event loop stands still: they still get connections, and serve none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

HEARTBEAT_SECONDS: Final = 1.0
"""How often a worker beats."""
CHECK_SECONDS: Final = 1.0
"""How often its producer looks."""
LATE_SECONDS: Final = 2.0
"""After so long a time between two checks the producer itself, or the whole machine, stood still."""
SILENT_SECONDS: Final = 2.0
"""A worker that is silent for longer is reported."""


class _Observed(NamedTuple):
    """The heartbeats of a worker at the last check, and for how long there were no more."""

    heartbeats: int
    silent: float = 0.0


class Watchdog:
    """Measures how long workers are silent, in time in which the producer itself ran.

    A check that comes late counts for nothing: what stopped the producer, as a debugger, a suspended machine or a lack
    of memory, may have stopped the workers, too. Remembers: the heartbeats at the last check. Persists: nothing.
    Assumes: checks every `CHECK_SECONDS`. Fails: never.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._observed: dict[int, _Observed] = {}
        self._checked_at: float | None = None

    @property
    def silent(self) -> int:
        """How many workers are silent."""
        return sum(it.silent > SILENT_SECONDS for it in self._observed.values())

    def check(self, heartbeats: Mapping[int, int], now: float) -> list[int]:
        """Return the workers that were silent for too long; each has its time anew. 0 heartbeats: it does not listen."""
        elapsed = 0.0 if self._checked_at is None else now - self._checked_at
        counted = elapsed if elapsed < LATE_SECONDS else 0.0
        self._checked_at = now
        self._observed = {
            index: self._observe(index, beats, counted) for index, beats in heartbeats.items()
        }
        hung = [index for index, it in self._observed.items() if it.silent >= self._limit]
        for index in hung:
            self._observed[index] = _Observed(heartbeats[index])
        return hung

    def _observe(self, index: int, heartbeats: int, counted: float) -> _Observed:
        before = self._observed.get(index)
        if not heartbeats or before is None or before.heartbeats != heartbeats:
            return _Observed(heartbeats)
        return _Observed(heartbeats, before.silent + counted)
