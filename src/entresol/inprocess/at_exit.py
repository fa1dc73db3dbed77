"""Stop what a program has started and not stopped when it ends."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from functools import cache

_running: dict[Callable[[], object], None] = {}


def stop_at_exit(stop: Callable[[], object]) -> None:
    """Call `stop` when the program ends."""
    _register()
    _running[stop] = None


def need_not_stop(stop: Callable[[], object]) -> None:
    """Do not call `stop` when the program ends."""
    _running.pop(stop, None)


@cache
def _register() -> None:
    # Once `atexit` runs its functions, thread pools accept no work, and a node stops by theirs.
    register: Callable[[Callable[[], None]], object]
    register = getattr(threading, "_register_atexit", atexit.register)
    register(_stop_all)


def _stop_all() -> None:
    for stop in list(_running):
        stop()
