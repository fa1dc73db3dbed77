"""What a fork has asked of its remote since the start, for health, metrics and explorer."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

MAX_READS: Final = 200
"""How many of the last reads are listed."""
NO_RESPONSE: Final = "no_response"
RATE_LIMIT: Final = "rate_limit"
_WORD: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


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
    """What was counted until now."""

    requests: int
    retries: dict[str, int]
    """Why requests were sent again: `no_response` or `rate_limit`, each with its number."""
    cached: int
    missed: int
    errors: dict[str, int]
    """What failed in the end, by the kind of error."""
    kept: int
    """How many values came, from remote and cache, with `kept_bytes` in them."""
    kept_bytes: int
    waited_seconds: float
    is_reachable: bool | None
    """None as long as nothing was asked."""
    unreachable_seconds: float
    """How long it has not responded, if it was asked in vain."""


class RemoteUse:
    """Counts what a fork asks of its remote, and lists the last reads.

    Remembers: the counts, `MAX_READS` reads, and since when the remote does not respond. Persists: nothing. Any thread.
    """

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
            if reason == NO_RESPONSE and self._is_reachable is not False:
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
