"""The pytest plugin: registers the fixtures if web3.py is installed, and does nothing otherwise.

It is loaded in every run where the package is installed, so it imports nothing. `-p no:entresol` turns it off.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the flags of the plugin."""
    group = parser.getgroup("entresol")
    group.addoption(
        "--entresol-offline",
        action="store_true",
        help="Let devnets that are forks send no request to a remote: their caches have all.",
    )
    group.addoption(
        "--entresol-full-traceback",
        action="store_true",
        help="Show the frames of web3.py, contextlib and entresol in the failures of tests, too.",
    )
    group.addoption(
        "--entresol-gas",
        action="store_true",
        help="Print at the end how much gas the functions of contracts have used.",
    )
    group.addoption(
        "--entresol-gas-lines",
        action="append",
        metavar="FILE",
        help="Print at the end a source with the gas of each line; give it again for more.",
    )
    group.addoption(
        "--entresol-coverage",
        nargs="?",
        const="lcov.info",
        metavar="FILE",
        help="Print at the end how much of the contracts has run, and write FILE for lcov (lcov.info).",
    )
    group.addoption(
        "--entresol-coverage-exclude",
        action="append",
        metavar="GLOB",
        help="Do not measure sources whose names match; give it again for more.",
    )
    group.addoption(
        "--entresol-coverage-fail-under",
        type=float,
        metavar="N",
        help="Fail if less than N percent of the lines have run.",
    )


COVERAGE: Final = "--entresol-coverage"
PROFILING: Final = ("--entresol-gas", "--entresol-gas-lines", COVERAGE)
"""Flags for which executions are counted, which takes time."""


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker and the fixtures."""
    config.addinivalue_line(
        "markers",
        "entresol(**settings): the test has a devnet with these settings, such as fork_url, besides those of "
        "devnet_settings",
    )
    if find_spec("web3") is not None:
        names = ["fixtures", "reports"]
        if any(config.getoption(option, default=None) for option in PROFILING):
            names.append("profiling")
        if config.getoption(COVERAGE, default=None):
            names.append("coverage")
        for name in names:
            module = import_module(f"entresol.testing.{name}")
            config.pluginmanager.register(module, f"entresol-{name}")
