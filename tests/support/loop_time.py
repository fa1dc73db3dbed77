"""How long an event loop is kept from other work: the longest of its callbacks, in CPU time of its thread."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
from collections.abc import Callable, Iterator


class LoopTime:
    """The longest callback so far, in seconds.

    CPU time of the thread does not grow when other processes or threads run, so that a test may bound it
    generously on any machine.
    """

    def __init__(self) -> None:
        self.longest = 0.0

    def run(self, callback: Callable[[], None]) -> None:
        started = time.thread_time()
        try:
            callback()
        finally:
            self.longest = max(self.longest, time.thread_time() - started)


@contextlib.contextmanager
def measured_callbacks() -> Iterator[LoopTime]:
    """Measure every callback that an event loop runs meanwhile; the steps of tasks are callbacks too.

    Without garbage collections: one that a callback happens to start visits what all tests before have left.
    """
    measured, run, collects = LoopTime(), asyncio.Handle._run, gc.isenabled()
    gc.disable()
    asyncio.Handle._run = lambda self: measured.run(lambda: run(self))  # type: ignore[method-assign]
    try:
        yield measured
    finally:
        asyncio.Handle._run = run  # type: ignore[method-assign]
        if collects:
            gc.enable()
