"""Call counts, latencies and errors by method, in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

BUCKETS: Final = (
    0.00001, 0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0,
)  # fmt: skip
"""The upper bounds of the latency histogram, in seconds."""


class MethodMetrics:
    """The calls of one method."""

    __slots__ = ("buckets", "cache_hits", "errors", "seconds")

    def __init__(self) -> None:
        self.buckets = [0] * (len(BUCKETS) + 1)
        self.errors: dict[int, int] = {}
        self.seconds = 0.0
        self.cache_hits = 0
        """How many calls got a cached result, in no time worth measuring."""

    def observe(self, seconds: float, code: int) -> None:
        """Count a call that took `seconds`; `code` is 0 unless it failed."""
        self.buckets[bisect_left(BUCKETS, seconds)] += 1
        self.seconds += seconds
        if code:
            self.errors[code] = self.errors.get(code, 0) + 1

    def add(
        self, buckets: Sequence[int], seconds: float, errors: Iterable[tuple[int, int]] = ()
    ) -> None:
        """Count calls that were observed elsewhere; `errors` are codes and how many calls had them."""
        self.buckets = [ours + theirs for ours, theirs in zip(self.buckets, buckets, strict=True)]
        self.seconds += seconds
        for code, count in errors:
            self.errors[code] = self.errors.get(code, 0) + count

    @property
    def calls(self) -> int:
        """Return how many calls there were."""
        return self.cache_hits + sum(self.buckets)


class Metrics:
    """The metrics of all methods.

    Remembers: counts since the start, as Prometheus expects counters to reset.
    Assumes:   one thread counts.
    """

    def __init__(self) -> None:
        self._by_method: dict[str, MethodMetrics] = {}

    def of_method(self, name: str) -> MethodMetrics:
        """Return the metrics of a method; `name` must come from a bounded set."""
        return self._by_method.setdefault(name, MethodMetrics())

    def render(self) -> str:
        """Return everything in the text format of Prometheus."""
        used = [
            (name, metrics) for name, metrics in sorted(self._by_method.items()) if metrics.calls
        ]
        lines = ["# HELP entresol_rpc_errors_total Calls that failed.",
                 "# TYPE entresol_rpc_errors_total counter"]  # fmt: skip
        lines += [
            f'entresol_rpc_errors_total{{method="{name}",code="{code}"}} {count}'
            for name, metrics in used
            for code, count in sorted(metrics.errors.items())
        ]
        lines += ["# HELP entresol_rpc_seconds Time from a decoded request to its response.",
                  "# TYPE entresol_rpc_seconds histogram"]  # fmt: skip
        for name, metrics in used:
            lines += _histogram(name, metrics)
        return "\n".join(lines) + "\n"


def _histogram(name: str, metrics: MethodMetrics) -> Iterator[str]:
    total = metrics.cache_hits
    for bound, count in zip([*map(str, BUCKETS), "+Inf"], metrics.buckets, strict=True):
        total += count
        yield f'entresol_rpc_seconds_bucket{{method="{name}",le="{bound}"}} {total}'
    yield f'entresol_rpc_seconds_sum{{method="{name}"}} {metrics.seconds:.9f}'
    yield f'entresol_rpc_seconds_count{{method="{name}"}} {total}'
