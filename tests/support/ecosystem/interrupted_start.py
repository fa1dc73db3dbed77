"""Starts that end at every line of their log, as if the process were killed there."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

_SETUP = logging.getLogger("entresol.node.settlement")
_MAX_STARTS = 100


class Killed(BaseException):
    """The process ends here."""


class _KillAtEachLine(logging.Handler):
    """Ends a start at the first line that no start before has ended at."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        line = record.getMessage()
        if line not in self.lines:
            self.lines.append(line)
            raise Killed


@contextlib.contextmanager
def killed_at_each_line() -> Iterator[list[str]]:
    """End each start at another line that it logs while it sets up settlement; yield these lines."""
    killer, level = _KillAtEachLine(), _SETUP.level
    _SETUP.addHandler(killer)
    _SETUP.setLevel(logging.INFO)
    try:
        yield killer.lines
    finally:
        _SETUP.removeHandler(killer)
        _SETUP.setLevel(level)


def completed(start: Callable[[], T]) -> T:
    for _ in range(_MAX_STARTS):
        with contextlib.suppress(Killed):
            return start()
    raise AssertionError("every start was killed")
