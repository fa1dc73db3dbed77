"""Stop what a program has started and not stopped when it ends."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from functools import cache
from typing import Protocol


class Stoppable(Protocol):
    """Something that runs until it is stopped."""

    def stop(self) -> None:
        """Stop it."""


_running: dict[int, Stoppable] = {}


def stop_at_exit(started: Stoppable) -> None:
    """Stop it when the program ends, unless it is stopped before."""
    _register()
    _running[id(started)] = started


def need_not_stop(stopped: Stoppable) -> None:
    """Leave it alone when the program ends."""
    _running.pop(id(stopped), None)


@cache
def _register() -> None:
    # Once `atexit` runs its functions, thread pools accept no work, and a node stops by theirs.
    register: Callable[[Callable[[], None]], object]
    register = getattr(threading, "_register_atexit", atexit.register)
    register(_stop_all)


def _stop_all() -> None:
    for node in list(_running.values()):
        node.stop()
