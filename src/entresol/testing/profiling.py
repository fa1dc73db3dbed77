"""The profile of the contracts of a test run: counted on the devnets of the fixtures, and reported at the end.

The plugin registers this module only if a flag asks for counts, so that other runs are not slower.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import pytest

from entresol.counted import counted
from entresol.features.debugger.gas_report_table import gas_lines, gas_table
from entresol.features.debugger.settings import DebuggerConfig
from entresol.features.debugger.sources.profile.counts import SourceCounts
from entresol.features.debugger.sources.profile.report import GasReport
from entresol.features.debugger.sources.profile.totals import ProfileTotals
from entresol.features.debugger.sources.registry import SourceRegistry
from entresol.inprocess.profiling.profiler import Profiler

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from entresol.inprocess.devnet import Devnet

OUTPUT: Final = "entresol_profile"
"""The name that a worker of xdist gives its counts."""


class Profiled:
    """The counts of a test run; in the controller of xdist those of its workers.

    Remembers: the counts, and the sources of the devnets.
    """

    def __init__(self) -> None:
        self.profiler = Profiler()
        self.paths: list[str] = []
        """The setting `sources` of all devnets."""
        self.lost_workers = 0

    def follow(self, devnet: Devnet) -> None:
        """Count what the contracts of a devnet do."""
        devnet.profile(self.profiler)
        self.add_paths(devnet.config.of(DebuggerConfig).sources)

    def add_paths(self, paths: Sequence[str]) -> None:
        """Know the sources in files and folders, too."""
        self.paths += [path for path in paths if path not in self.paths]

    @property
    def totals(self) -> ProfileTotals:
        """The counts."""
        return self.profiler.totals

    @cached_property
    def sources(self) -> SourceRegistry:
        """The sources of all devnets."""
        return SourceRegistry.of_paths(self.paths)


PROFILED: Final = pytest.StashKey[Profiled]()


def pytest_configure(config: pytest.Config) -> None:
    """Begin to count."""
    config.stash[PROFILED] = Profiled()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Give what a worker has counted to the controller."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        profiled = session.config.stash[PROFILED]
        output[OUTPUT] = (profiled.totals.encode(), profiled.paths)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:  # noqa: ARG001 - the hook has it
    """Take what a worker has counted; one that has crashed has given nothing."""
    profiled = node.config.stash[PROFILED]
    given = getattr(node, "workeroutput", {}).get(OUTPUT)
    if given is None:
        profiled.lost_workers += 1
        return
    counted, paths = given
    profiled.totals.merge(ProfileTotals.decode(counted))
    profiled.add_paths(paths)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the reports that were asked for."""
    profiled = config.stash[PROFILED]
    if profiled.lost_workers:
        terminalreporter.write_line(
            f"{counted(profiled.lost_workers, 'worker')} crashed: what their contracts did is not counted"
        )
    for option, report in REPORTS:
        if config.getoption(option):
            report(terminalreporter, profiled)


def report_gas(terminal: pytest.TerminalReporter, profiled: Profiled) -> None:
    """Print the gas of contracts by function."""
    terminal.section("gas report of entresol")
    for line in gas_table(GasReport.of(profiled.totals, profiled.sources)):
        terminal.write_line(line)


def report_lines(terminal: pytest.TerminalReporter, profiled: Profiled) -> None:
    """Print sources with the gas of their lines."""
    files = SourceCounts.of(profiled.totals, profiled.sources).files
    for wanted in terminal.config.getoption(GAS_LINES):
        found = [file for file in files if file.source.name.endswith(wanted)]
        terminal.section(f"gas by line: {wanted}")
        if not found:
            terminal.write_line(f"no contract of a file {wanted} was called")
        for file in found:
            for line in gas_lines(file):
                terminal.write_line(line)


GAS: Final = "--entresol-gas"
GAS_LINES: Final = "--entresol-gas-lines"
REPORTS: Final[list[tuple[str, Callable[[pytest.TerminalReporter, Profiled], None]]]] = [
    (GAS, report_gas),
    (GAS_LINES, report_lines),
]
"""The flags that ask for counts, with what prints them."""
