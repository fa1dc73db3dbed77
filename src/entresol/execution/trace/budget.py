"""The budget of a request for traces: bytes of the response, and time."""

from __future__ import annotations

from typing import Final

import msgspec

from entresol._native import Limits, TraceWriter
from entresol.errors import DeadlinePassed, TraceTooLarge
from entresol.state_missing import work_clock

MAX_SECONDS: Final = 60.0
"""How long the traces of a request may take together, whatever time a client allows for each."""


class TraceLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How long a trace may be, and how long it may take."""

    max_bytes: int = 256 << 20
    """Bytes of all traces of a request, and of what they are made from."""
    seconds: float = 5.0
    """Time for one transaction, unless the request says otherwise."""


class TraceBudget:
    """Collects the traces of a request, and says what is left for the next one, all on one thread."""

    def __init__(self, limits: TraceLimits, seconds: float | None = None) -> None:
        self.writer = TraceWriter()
        self._max_bytes = limits.max_bytes
        self._seconds = limits.seconds if seconds is None else seconds
        self._end = work_clock() + MAX_SECONDS

    def left(self) -> Limits:
        """Return the limits of the next execution."""
        return Limits(seconds=self.seconds_left(), trace_bytes=self.bytes_left())

    def seconds_left(self) -> float:
        """Return the time for the next execution."""
        left = self._end - work_clock()
        if left <= 0:
            raise DeadlinePassed(f"the traces took longer than {MAX_SECONDS:g} s together")
        return min(self._seconds, left)

    def bytes_left(self) -> int:
        """Return the bytes that the next trace may have."""
        left = self._max_bytes - len(self.writer)
        if left < 0:
            raise self.too_large()
        return left

    def too_large(self) -> TraceTooLarge:
        """Return the error of traces that exceed the limit."""
        return TraceTooLarge(
            f"the trace needs more than {self._max_bytes} bytes: --trace-limit-bytes sets the limit"
        )
