"""How much of the contracts a test run has executed: a file of lcov, and a table at the end.

The plugin registers this module only if `--entresol-coverage` is given.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from entresol.counted import counted
from entresol.features.debugger.sources.coverage.coverage import Coverage, Share, SourceCoverage
from entresol.features.debugger.sources.coverage.lcov import lcov_of
from entresol.features.debugger.sources.folders import is_file, read_contracts, roots_of
from entresol.features.debugger.sources.registry import SourceRegistry
from entresol.terminal.formats import printable
from entresol.testing.profiling import PROFILED, Profiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from entresol.features.debugger.sources.source_file import SourceFile

TITLES: Final = ("lines", "statements", "branches", "functions")
MAX_MISSED: Final = 60
"""Characters of the lines that were missed; the file of lcov has all."""


def coverage_table(files: Sequence[tuple[str, SourceCoverage]]) -> Iterator[str]:
    """Yield the lines of the table; each source has the path that it is shown by."""
    rows = [(printable(path), file.shares, missed_text(file.missed_lines)) for path, file in files]
    width = max([len(path) for path, _, _ in rows] + [len("together")])
    titles = "".join(f"{title:>18}" for title in TITLES)
    yield f"{'file':<{width}}{titles}  missed lines".rstrip()
    for path, shares, missed in rows:
        yield _row(path, width, shares, missed)
    yield _row("together", width, total_of(file for _, file in files), "")


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


COVERAGE: Final = "--entresol-coverage"
EXCLUDE: Final = "--entresol-coverage-exclude"
FAIL_UNDER: Final = "--entresol-coverage-fail-under"
NOT_COUNTED: Final = ("lib/*", "*node_modules/*", "@*", "npm/*", "hardhat/*", "*.t.sol", "*.s.sol")
"""Sources that are dependencies, or tests and scripts of Foundry."""

NO_SOURCES: Final = (
    "there are no sources: the setting sources names Foundry's out or Hardhat's artifacts"
)
NO_VYPER: Final = "contracts in Vyper are not covered"
INEXACT: Final = "contracts were compiled with an optimizer, or by way of Yul: lines may be inexact. Compile without to measure."


class CoverageReport:
    """The coverage of a test run.

    Remembers: the sources with their paths, what the report says besides, and why it was not written.
    """

    def __init__(self, files: Sequence[tuple[str, SourceCoverage]], notes: Iterable[str]) -> None:
        self.files = files
        self.notes = list(notes)
        self.problem: str | None = None

    @classmethod
    def of(cls, profiled: Profiled, excluded: Sequence[str]) -> CoverageReport:
        """Return the coverage of what was counted."""
        contracts = list(read_contracts(profiled.paths))
        coverage = Coverage(contracts, partial(_is_counted, excluded))
        registry = SourceRegistry(lambda: contracts)
        for code in profiled.totals.codes.values():
            found = registry.find(code.code, is_creation=code.is_creation)
            if found is not None:
                is_creation = code.is_creation
                coverage.add(found, code.executions, code.taken, is_creation=is_creation)
        files, changed = _with_paths(coverage.files, profiled.paths)
        return cls(files, _notes(profiled, coverage, changed))

    @property
    def line_percent(self) -> float:
        """How many of all lines ran; none if there are no sources, so that a wrong folder does not pass."""
        return total_of(file for _, file in self.files)[0].percent if self.files else 0.0

    def write(self, file: Path) -> None:
        """Write the file of lcov, or keep the problem: the table is worth more than an error."""
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(lcov_of(self.files), encoding="utf-8")
        except OSError as error:
            self.problem = error.strerror or str(error)


REPORT: Final = pytest.StashKey[CoverageReport]()


def pytest_configure(config: pytest.Config) -> None:
    """Reject a file that is none: `--entresol-coverage tests` would take the tests for it."""
    file = Path(config.getoption(COVERAGE))
    if file.is_dir() or file.suffix == ".py":
        text = f"{COVERAGE} {file}: write {COVERAGE}=FILE, or put {file} first"
        raise pytest.UsageError(text)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the file of lcov; fail a run that has passed without it, or with too few lines."""
    config = session.config
    if hasattr(config, "workeroutput"):
        return
    report = CoverageReport.of(config.stash[PROFILED], config.getoption(EXCLUDE) or ())
    config.stash[REPORT] = report
    report.write(config.invocation_params.dir / config.getoption(COVERAGE))
    if session.exitstatus:
        return
    wanted = config.getoption(FAIL_UNDER)
    if report.problem is not None:
        session.exitstatus = pytest.ExitCode.USAGE_ERROR
    elif wanted is not None and report.line_percent < wanted:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the table."""
    report = config.stash.get(REPORT, None)
    if report is None:
        return
    terminalreporter.section("coverage of contracts")
    for line in (*coverage_table(report.files), *report.notes):
        terminalreporter.write_line(line)
    file = config.getoption(COVERAGE)
    if report.problem is None:
        terminalreporter.write_line(f"written to {file}")
    else:
        text = f"{COVERAGE}={file} was not written: {report.problem}"
        terminalreporter.write_line(text, red=True)
    wanted = config.getoption(FAIL_UNDER)
    if wanted is not None and report.line_percent < wanted:
        text = f"{report.line_percent:.2f}% of lines ran, {FAIL_UNDER} wants {wanted:g}%"
        terminalreporter.write_line(text, red=True)


def _is_counted(excluded: Sequence[str], source: SourceFile) -> bool:
    return not any(fnmatchcase(source.name, pattern) for pattern in (*NOT_COUNTED, *excluded))


def _with_paths(
    files: Sequence[SourceCoverage], paths: Sequence[str]
) -> tuple[list[tuple[str, SourceCoverage]], int]:
    """Return sources with their paths from the working directory, and how many have changed since.

    Of a file that was compiled several times, that is what it has now, or else what was compiled last.
    """
    found: dict[str, tuple[bool, SourceCoverage]] = {}
    for file in files:
        path, is_same = _path_of(file.source, paths)
        known = found.get(path)
        if known is None or (is_same and not known[0]):
            found[path] = is_same, file
    changed = sum(not is_same for is_same, _ in found.values())
    return [(path, file) for path, (_, file) in sorted(found.items())], changed


def _path_of(source: SourceFile, paths: Sequence[str]) -> tuple[str, bool]:
    """Return the path of a source, or its name if there is no such file; and whether its text is the same."""
    roots = [root for path in paths for root in roots_of(Path(path))]
    files = [path for path in (root / source.name for root in roots) if is_file(path)]
    if not files:
        return source.name, True
    same = next((file for file in files if file.read_bytes() == source.text), None)
    file, here = (same or files[0]).absolute(), Path.cwd()
    shown = file.relative_to(here) if file.is_relative_to(here) else file
    return str(shown), same is not None


def _notes(profiled: Profiled, coverage: Coverage, changed: int) -> Iterator[str]:
    if not coverage.files:
        yield NO_SOURCES
    if changed:
        verb = "has" if changed == 1 else "have"
        yield f"{counted(changed, 'source')} {verb} changed since the last compilation: compile again"
    if coverage.has_vyper:
        yield NO_VYPER
    if coverage.is_inexact:
        yield INEXACT
    if profiled.totals.left_out:
        yield f"{profiled.totals.left_out:,} executions were too large to be counted"
