"""The report of a failed test: its own lines, the decoded reason of a revert, and what contracts have printed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import pytest

from entresol.testing.devnet_start import DEVNET_START
from entresol.testing.tracebacks import (
    add_note,
    frames_of,
    is_hidden,
    is_of_plugin,
    line_of,
    module_of,
    pruned,
    related_to,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import FrameType

T = TypeVar("T")

# Modules of a node are imported when a test has failed that uses one: pytest imports this one in every run.

FULL_TRACEBACK: Final = "--entresol-full-traceback"
HINT: Final = f"frames of web3.py, contextlib and entresol are hidden: {FULL_TRACEBACK} shows them"
FIXTURES: Final = frozenset({"devnet_pool", "devnet_of_test"})
"""All other fixtures of chains need one of them."""
SECTION: Final = "entresol"
"""The section of a report that says what could not be reported."""
IS_PRUNED: Final = "entresol_is_pruned"
"""The attribute of a report whose traceback lacks frames; it arrives from the workers of xdist, too."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Explain a failure, and leave the frames out that are not about the test.

    Exceptions and contracts of a test may raise wherever they are read, which must not hide the failure: only what
    others do with the report may raise here.
    """
    excinfo = call.excinfo
    if excinfo is None:
        return (yield)
    problems: list[str] = []
    undo: list[Callable[[], object]] = []
    is_pruned = False
    if _attempt(problems, partial(_is_ours, item, excinfo.value)):
        _attempt(problems, partial(_explain, item, call.when, excinfo.value, problems))
        if not _is_full(item.config):
            is_pruned = bool(_attempt(problems, partial(_prune, call, undo)))
    if problems:
        item.add_report_section(call.when, SECTION, "\n".join(problems))
    try:
        report = yield
    finally:
        # Not for `--pdb`, which shows all of them.
        call.excinfo = excinfo
        late: list[str] = []
        for restore in reversed(undo):
            _attempt(late, restore)
    if late:
        report.sections.append((f"Captured {SECTION} {call.when}", "\n".join(late)))
    setattr(report, IS_PRUNED, is_pruned)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once how to see the frames that are hidden."""
    failed = (
        report for kind in ("failed", "error") for report in terminalreporter.getreports(kind)
    )
    if any(getattr(report, IS_PRUNED, False) for report in failed):
        terminalreporter.write_line(HINT)


def _is_ours(item: pytest.Item, error: BaseException) -> bool:
    """Return whether a test uses a fixture of the plugin, or fails in an assertion of it."""
    if not isinstance(error, Exception) or error.__traceback__ is None:
        return False
    if not FIXTURES.isdisjoint(getattr(item, "fixturenames", ())):
        return True
    return any(is_of_plugin(frame) for member in related_to(error) for frame in frames_of(member))


def _is_full(config: pytest.Config) -> bool:
    wanted = config.getoption(FULL_TRACEBACK, default=False) or config.getoption("fulltrace")
    return bool(wanted) or config.getoption("tbstyle") == "native"


def _attempt(problems: list[str], action: Callable[[], T]) -> T | None:
    """Return the result of a part of a report; if it raises, None, and say so among the problems."""
    try:
        return action()
    except (KeyboardInterrupt, pytest.exit.Exception):
        raise
    except BaseException as problem:  # noqa: BLE001 - a property may call pytest.fail
        problems.append(f"the report could not be made: {_text_of(problem)}")
        return None


def _text_of(problem: BaseException) -> str:
    from entresol.terminal.formats import printable  # noqa: PLC0415

    name = type.__dict__["__name__"].__get__(type(problem))
    try:
        return printable(f"{name}: {problem}")
    except BaseException:  # noqa: BLE001 - it may have no text
        return printable(name)


def _explain(item: pytest.Item, when: str, error: BaseException, problems: list[str]) -> None:
    from entresol.testing.explanations import FailureExplainer  # noqa: PLC0415

    start = item.stash.get(DEVNET_START, None)
    related = list(related_to(error))
    explainer = FailureExplainer(start, related, getattr(item, "funcargs", {}))
    for member in related:
        _attempt(problems, partial(explainer.explain_error, member))
    for title, lines in explainer.sections() if when == "call" else ():
        item.add_report_section(when, title, "\n".join(lines))


def _prune(call: pytest.CallInfo[None], undo: list[Callable[[], object]]) -> bool:
    """Remove frames from the tracebacks of an exception and of those that are shown with it.

    Append what restores them; return whether there were any.
    """
    assert call.excinfo is not None
    error = call.excinfo.value
    is_shown = _shown_frames(error)
    if isinstance(error, AssertionError) and is_of_plugin(list(frames_of(error))[-1]):
        # Its text has what the other says, except for the line.
        cause, is_suppressed = error.__cause__, error.__suppress_context__
        line = None if cause is None else line_of(cause, is_shown)
        if line is not None:
            add_note(error, f"in {line}")
        undo.append(partial(_set_cause, error, cause, is_suppressed=is_suppressed))
        _set_cause(error, None, is_suppressed=True)
    related = list(related_to(error))
    frames = [frame for member in related for frame in frames_of(member)]
    # Without any pytest shows the text of an earlier exception alone, and of the last one it needs some.
    shown = [
        (member, pruned(member, is_shown) or (member.__traceback__ if member is error else None))
        for member in related
    ]
    for member, traceback in shown:
        undo.append(partial(BaseException.with_traceback, member, member.__traceback__))
        # An exception may forbid that its attributes are set: a frozen dataclass does.
        BaseException.with_traceback(member, traceback)
    call.excinfo = pytest.ExceptionInfo.from_exception(error)
    return not all(map(is_shown, frames))


def _set_cause(error: BaseException, cause: BaseException | None, *, is_suppressed: bool) -> None:
    BaseException.__setattr__(error, "__cause__", cause)
    BaseException.__setattr__(error, "__suppress_context__", is_suppressed)


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
