"""What waits for the remote, and how long: for banner, health and log."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

logger = logging.getLogger(__name__)

SLOW_SECONDS: Final = 3.0
"""What waits longer is logged."""
QUIET_SECONDS: Final = 30.0
"""How long nothing more is logged then: many requests wait for the same reason."""


class WaitReport(msgspec.Struct, frozen=True):
    """What waits for the remote now."""

    host: str
    requests: int = 0
    method: str = ""
    """That of the request that waits longest."""
    seconds: float = 0.0
    """How long that one waits."""

    def __str__(self) -> str:
        if not self.requests:
            return f"nothing waits for {self.host}"
        waiting = "1 request waits" if self.requests == 1 else f"{self.requests} requests wait"
        return f"{waiting} for {self.host}, {self.method} for {self.seconds:.0f} seconds"


class Waits:
    """The requests that wait for the remote.

    Remembers: since when each waits. Any thread may ask for a report.
    """

    def __init__(self, host: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.host = host
        self._clock = clock
        self._lock = threading.Lock()
        self._open: dict[int, tuple[float, str]] = {}
        self._next = 0
        self._quiet_until = 0.0

    def report(self) -> WaitReport:
        """Return what waits now."""
        with self._lock:
            if not self._open:
                return WaitReport(self.host)
            since, method = min(self._open.values())
            return WaitReport(self.host, len(self._open), method, self._clock() - since)

    @contextmanager
    def waiting(
        self, method: str, later: Callable[[float, Callable[[], None]], Callable[[], None]]
    ) -> Iterator[None]:
        """Count a request while it waits; `later` calls something after some seconds, and returns how to cancel that."""
        with self._lock:
            self._next += 1
            key = self._next
            self._open[key] = (self._clock(), method)
        cancel = later(SLOW_SECONDS, self._log)
        try:
            yield
        finally:
            cancel()
            with self._lock:
                del self._open[key]

    def _log(self) -> None:
        now = self._clock()
        if now >= self._quiet_until:
            self._quiet_until = now + QUIET_SECONDS
            logger.warning("the remote is slow: %s", self.report())
