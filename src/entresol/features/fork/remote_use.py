"""A fork's use of its remote since the start, and what waits for it now: for banner, health, metrics and explorer."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

import msgspec

MAX_READS: Final = 200
WITHOUT_RESPONSE: Final = "no_response"
RATE_LIMIT: Final = "rate_limit"
_WORD: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")

logger = logging.getLogger(__name__)

SLOW_SECONDS: Final = 3.0
QUIET_SECONDS: Final = 30.0
"""How long nothing more is logged then: many requests wait for the same reason."""


class RemoteRead(NamedTuple):
    """A value that something needed: read, and cached since, or not to be had."""

    what: str
    """`account`, `code`, `slot`, `hash`, or the method of a response."""
    which: str
    """The address, with the slot after a slash; the number of a block; the parameters of a response."""
    size: int
    at: float
    """The Unix time."""
    is_kept: bool
    """Whether it is here now: else the remote could not be asked."""


class UseReport(NamedTuple):
    """The counts until now."""

    requests: int
    retries: dict[str, int]
    """Why requests were sent again: `no_response` or `rate_limit`, each with its number."""
    cached: int
    missed: int
    errors: dict[str, int]
    """The final failures, by the kind of error."""
    kept: int
    """How many values came, from remote and cache, with `kept_bytes` in them."""
    kept_bytes: int
    waited_seconds: float
    is_reachable: bool | None
    """None as long as nothing was asked."""
    unreachable_seconds: float
    """How long it has not responded, if it was asked in vain."""


class RemoteUse:
    """Counts what a fork asks of its remote, and lists the last reads. Any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._retries: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._reads: deque[RemoteRead] = deque(maxlen=MAX_READS)
        self._waited = 0.0
        self._is_reachable: bool | None = None
        self._away_since = 0.0

    def sent(self) -> None:
        """Count an HTTP request."""
        with self._lock:
            self._counts["requests"] += 1

    def responded(self) -> None:
        """Note that the remote is there."""
        self._is_reachable = True

    def retried(self, reason: str) -> None:
        """Count a request without a response that can be used; without any, the remote is away from now on."""
        with self._lock:
            self._retries[reason] += 1
            if reason == WITHOUT_RESPONSE and self._is_reachable is not False:
                self._is_reachable, self._away_since = False, self._clock()

    def waited(self, seconds: float) -> None:
        """Count how long a request took, with all its attempts."""
        with self._lock:
            self._waited += seconds

    def looked_up(self, cached: int, missed: int) -> None:
        """Count values that the cache had, and that it had not."""
        with self._lock:
            self._counts["cached"] += cached
            self._counts["missed"] += missed

    def read(self, reads: Iterable[tuple[str, str, int]], *, is_kept: bool = True) -> None:
        """List values: what, which, and how many bytes."""
        now = time.time()
        with self._lock:
            for what, which, size in reads:
                self._reads.append(RemoteRead(what, which, size, now, is_kept))
                if is_kept:
                    self._counts["kept"] += 1
                    self._counts["bytes"] += size

    def failed(self, error: BaseException) -> None:
        """Count something that could not be had."""
        with self._lock:
            self._errors[kind_of(error)] += 1

    def reads(self) -> list[RemoteRead]:
        """Return the last reads, the newest first."""
        with self._lock:
            return [*reversed(self._reads)]

    def report(self) -> UseReport:
        """Return the counts."""
        with self._lock:
            counts, away = self._counts, self._is_reachable is False
            return UseReport(
                requests=counts["requests"],
                retries=dict(self._retries),
                cached=counts["cached"],
                missed=counts["missed"],
                errors=dict(self._errors),
                kept=counts["kept"],
                kept_bytes=counts["bytes"],
                waited_seconds=self._waited,
                is_reachable=self._is_reachable,
                unreachable_seconds=self._clock() - self._away_since if away else 0.0,
            )


def kind_of(error: BaseException) -> str:
    """Return the kind of an error as metrics name it: that of its class, in lower case."""
    return _WORD.sub("_", type(error).__name__).lower()


class WaitReport(msgspec.Struct, frozen=True):
    """The requests that wait for the remote now."""

    host: str
    requests: int = 0
    method: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        if not self.requests:
            return f"nothing waits for {self.host}"
        waiting = "1 request waits" if self.requests == 1 else f"{self.requests} requests wait"
        return f"{waiting} for {self.host}, {self.method} for {self.seconds:.0f} seconds"


class Waits:
    """The requests that wait for the remote. Any thread may ask for a report."""

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
