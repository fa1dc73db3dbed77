"""Coverage as a table: a line for each source, and one for all."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from entresol.sources.coverage.counts import Share
from entresol.terminal.formats import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from entresol.sources.coverage.counts import SourceCoverage

TITLES: Final = ("lines", "statements", "branches", "functions")
MAX_MISSED: Final = 60
"""Characters of the lines that were missed; the file of lcov has all."""


def coverage_table(files: Sequence[tuple[str, SourceCoverage]]) -> Iterator[str]:
    """Yield the lines of the table; each source has the path that it is shown by."""
    rows = [(printable(path), it.shares, missed_text(it.missed_lines)) for path, it in files]
    width = max([len(path) for path, _, _ in rows] + [len("together")])
    titles = "".join(f"{title:>18}" for title in TITLES)
    yield f"{'file':<{width}}{titles}  missed lines".rstrip()
    for path, shares, missed in rows:
        yield _row(path, width, shares, missed)
    yield _row("together", width, total_of(it for _, it in files), "")


def total_of(files: Iterable[SourceCoverage]) -> tuple[Share, Share, Share, Share]:
    """Return the shares of all sources together."""
    total = [Share(0, 0)] * len(TITLES)
    for file in files:
        total = [a.plus(b) for a, b in zip(total, file.shares, strict=True)]
    lines, statements, branches, functions = total
    return lines, statements, branches, functions


def missed_text(lines: Sequence[int]) -> str:
    """Return lines with those that follow each other as ranges: `3, 5-8`."""
    runs = groupby(enumerate(lines), key=lambda it: it[1] - it[0])
    ranges = [[line for _, line in run] for _, run in runs]
    texts = [
        str(range_[0]) if len(range_) == 1 else f"{range_[0]}-{range_[-1]}" for range_ in ranges
    ]
    text = ", ".join(texts)
    if len(text) <= MAX_MISSED:
        return text
    return f"{text[:MAX_MISSED].rpartition(', ')[0]}, …"


def _row(path: str, width: int, shares: Iterable[Share], missed: str) -> str:
    cells = "".join(f"{_cell(share):>18}" for share in shares)
    return f"{path:<{width}}{cells}  {missed}".rstrip()


def _cell(share: Share) -> str:
    if not share.total:
        return "-"
    # What is not complete is never shown as 100 %.
    percent = min(share.percent, 99.9) if share.covered < share.total else 100.0
    return f"{percent:.1f}% ({share.covered}/{share.total})"
