"""Rows of benchmarks: their timing, their targets and the printed table."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path
from typing import Final, Literal

import msgspec

# Two shared cores: the best of several rounds is the one least disturbed.
ROUNDS: Final = 5
ROUND_SECONDS: Final = 0.2

_HEADINGS: Final = ("what", "value", "unit", "peer", "ratio", "target", "", "note")
_PACKAGES: Final = ("entresol", "msgspec", "web3")


class Target(msgspec.Struct, frozen=True):
    """The figure that a value must not exceed, or not fall short of."""

    bound: float
    direction: Literal["at most", "at least"]

    def held_by(self, value: float) -> bool:
        """Say whether `value` is on the right side of the bound."""
        return value <= self.bound if self.direction == "at most" else value >= self.bound


class Peer(msgspec.Struct, frozen=True):
    """The same thing measured on another implementation, in the same unit and the same run."""

    name: str
    value: float


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One measured thing."""

    what: str
    value: float
    unit: str
    peer: Peer | None = None
    target: Target | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Return our value as a multiple of the peer's."""
        return self.value / self.peer.value if self.peer is not None and self.peer.value else None


def best_seconds(work: Callable[[], object], *, calls: int | None = None) -> float:
    """Return the seconds that one call of `work` takes in the best of several rounds.

    Without `calls`, a round makes as many as fill a fifth of a second.
    """
    count = calls if calls is not None else _calls_per_round(work)
    return min(_seconds(work, count) for _ in range(ROUNDS)) / count


def table(rows: Iterable[Row]) -> str:
    """Return `rows` as an aligned table."""
    lines = [_HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEADINGS))]
    return "\n".join(_aligned(line, widths) for line in lines)


def machine() -> str:
    """Name the machine and the versions that the figures belong to."""
    versions = ", ".join(f"{name} {_version(name)}" for name in _PACKAGES)
    return (
        f"{_cpu_model()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}\n"
        f"{platform.python_implementation()} {platform.python_version()}, {versions}"
    )


def _calls_per_round(work: Callable[[], object]) -> int:
    count = 1
    while (seconds := _seconds(work, count)) < ROUND_SECONDS / 10:
        count *= 2
    return max(1, round(count * ROUND_SECONDS / seconds))


def _seconds(work: Callable[[], object], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        work()
    return time.perf_counter() - start


def _cells(row: Row) -> tuple[str, ...]:
    peer = "" if row.peer is None else f"{_figure(row.peer.value)} ({row.peer.name})"
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}x"
    if row.target is None:
        return (row.what, _figure(row.value), row.unit, peer, ratio, "", "", row.note)
    target = f"{row.target.direction} {_figure(row.target.bound)}"
    verdict = "held" if row.target.held_by(row.value) else "MISSED"
    return (row.what, _figure(row.value), row.unit, peer, ratio, target, verdict, row.note)


def _figure(value: float) -> str:
    """Return `value` with three significant digits, or whole when it has more."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 1 else f"{value:.{1 if abs(value) >= 10 else 2}f}"


def _aligned(cells: tuple[str, ...], widths: list[int]) -> str:
    what, value, *others = (
        cell.rjust(width) if column == 1 else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join((what, value, *others)).rstrip()


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "absent"
