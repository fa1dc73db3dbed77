"""Counting calls: how many, how slow, and which of them failed, by method."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

BUCKETS: Final = (
    0.00001, 0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0,
)  # fmt: skip
"""The upper bounds of the latency histogram, in seconds."""


class MethodMetrics:
    """The calls of one method."""

    __slots__ = ("buckets", "errors", "given_again", "seconds")

    def __init__(self) -> None:
        self.buckets = [0] * (len(BUCKETS) + 1)
        self.errors: dict[int, int] = {}
        self.seconds = 0.0
        self.given_again = 0
        """How many calls were answered with a kept result, in no time worth measuring."""

    def observe(self, seconds: float, code: int) -> None:
        """Count a call that took `seconds`; `code` is 0 unless it failed."""
        self.buckets[bisect_left(BUCKETS, seconds)] += 1
        self.seconds += seconds
        if code:
            self.errors[code] = self.errors.get(code, 0) + 1

    @property
    def calls(self) -> int:
        """Return how many calls there were."""
        return self.given_again + sum(self.buckets)


class Metrics:
    """The tallies of all methods.

    Remembers: counts since the start.
    Persists:  nothing: whoever collects them knows that counters start anew.
    Assumes:   one thread counts.
    Fails:     never.
    """

    def __init__(self) -> None:
        self._tallies: dict[str, MethodMetrics] = {}

    def tally(self, method: str) -> MethodMetrics:
        """Return the tally of `method`, which must come from a bounded set of names."""
        return self._tallies.setdefault(method, MethodMetrics())

    def render(self) -> str:
        """Return everything in the text format of Prometheus."""
        used = [(name, tally) for name, tally in sorted(self._tallies.items()) if tally.calls]
        lines = ["# HELP entresol_rpc_errors_total Calls that failed.",
                 "# TYPE entresol_rpc_errors_total counter"]  # fmt: skip
        lines += [
            f'entresol_rpc_errors_total{{method="{name}",code="{code}"}} {count}'
            for name, tally in used
            for code, count in sorted(tally.errors.items())
        ]
        lines += ["# HELP entresol_rpc_seconds Time from a decoded request to its answer.",
                  "# TYPE entresol_rpc_seconds histogram"]  # fmt: skip
        for name, tally in used:
            lines += _histogram(name, tally)
        return "\n".join(lines) + "\n"


def _histogram(name: str, tally: MethodMetrics) -> Iterator[str]:
    total = tally.given_again
    for bound, count in zip([*map(str, BUCKETS), "+Inf"], tally.buckets, strict=True):
        total += count
        yield f'entresol_rpc_seconds_bucket{{method="{name}",le="{bound}"}} {total}'
    yield f'entresol_rpc_seconds_sum{{method="{name}"}} {tally.seconds:.9f}'
    yield f'entresol_rpc_seconds_count{{method="{name}"}} {total}'
