"""The report of a failed test: its own lines, the decoded reason of a revert, and what contracts have printed."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

import pytest

from entresol.testing.devnet_start import DEVNET_START
from entresol.testing.tracebacks import (
    frames_of,
    is_hidden,
    is_of_plugin,
    line_of,
    module_of,
    pruned,
    related_to,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from types import FrameType

# Modules of a node are imported when a test has failed that uses one: pytest imports this one in every run.

FULL_TRACEBACK: Final = "--entresol-full-traceback"
HINT: Final = f"frames of web3.py, contextlib and entresol are hidden: {FULL_TRACEBACK} shows them"
FIXTURES: Final = frozenset({"devnet_pool", "devnet_of_test"})
"""All other fixtures of chains need one of them."""


IS_PRUNED: Final = "entresol_is_pruned"
"""The attribute of a report whose traceback lacks frames; it arrives from the workers of xdist, too."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Explain a failure, and leave the frames out that are not about the test."""
    excinfo = call.excinfo
    if excinfo is None or not _is_ours(item, excinfo.value):
        return (yield)
    assert isinstance(excinfo.value, Exception)
    _explain(item, call.when, excinfo.value)
    if _is_full(item.config):
        return (yield)
    with _pruned(excinfo.value) as is_pruned:
        call.excinfo = pytest.ExceptionInfo.from_exception(excinfo.value)
        report = yield
    # Not for `--pdb`, which shows all of them.
    call.excinfo = excinfo
    setattr(report, IS_PRUNED, is_pruned)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once how to see the frames that are hidden."""
    failed = (it for kind in ("failed", "error") for it in terminalreporter.getreports(kind))
    if any(getattr(it, IS_PRUNED, False) for it in failed):
        terminalreporter.write_line(HINT)


def _is_ours(item: pytest.Item, error: BaseException) -> bool:
    """Return whether a test uses a fixture of the plugin, or fails in an assertion of it."""
    if not isinstance(error, Exception) or error.__traceback__ is None:
        return False
    if not FIXTURES.isdisjoint(getattr(item, "fixturenames", ())):
        return True
    return any(is_of_plugin(frame) for it in related_to(error) for frame in frames_of(it))


def _is_full(config: pytest.Config) -> bool:
    wanted = config.getoption(FULL_TRACEBACK, default=False) or config.getoption("fulltrace")
    return bool(wanted) or config.getoption("tbstyle") == "native"


def _explain(item: pytest.Item, when: str, error: Exception) -> None:
    from entresol.testing.explanations import Explainer  # noqa: PLC0415

    start = item.stash.get(DEVNET_START, None)
    explainer = Explainer(start, related_to(error), getattr(item, "funcargs", {}))
    for it in related_to(error):
        explainer.explain_error(it)
    for title, lines in explainer.sections() if when == "call" else ():
        item.add_report_section(when, title, "\n".join(lines))


@contextmanager
def _pruned(error: Exception) -> Iterator[bool]:
    """Remove frames from the tracebacks of an exception and of those that are shown with it, for a while.

    Yield whether there were any.
    """
    is_shown = _shown_frames(error)
    if isinstance(error, AssertionError) and is_of_plugin(list(frames_of(error))[-1]):
        # Its text has what the other says, except for the line.
        cause, error.__cause__, error.__suppress_context__ = error.__cause__, None, True
        line = None if cause is None else line_of(cause, is_shown)
        if line is not None:
            error.add_note(f"in {line}")
    tracebacks = [(it, it.__traceback__) for it in related_to(error)]
    frames = [frame for it, _ in tracebacks for frame in frames_of(it)]
    for it, _ in tracebacks:
        # Without any pytest shows the text of an earlier exception alone, and of the last one it needs some.
        it.__traceback__ = pruned(it, is_shown) or (it.__traceback__ if it is error else None)
    try:
        yield not all(map(is_shown, frames))
    finally:
        for it, traceback in tracebacks:
            it.__traceback__ = traceback


def _shown_frames(error: BaseException) -> Callable[[FrameType], bool]:
    """Return what says of a frame whether it is shown.

    Where Entresol fails with an exception that is none of its own, its frames are what a bug report needs.
    """
    from entresol.errors import EntresolError  # noqa: PLC0415

    *_, innermost = frames_of(error)
    is_own = isinstance(error, AssertionError | EntresolError)
    is_inside = module_of(innermost).partition(".")[0] == "entresol"
    hidden = partial(is_hidden, with_node=is_own or not is_inside)
    return lambda frame: not hidden(frame)
