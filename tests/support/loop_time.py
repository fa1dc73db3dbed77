"""The time of event loops: the CPU time of their longest callback, and loops whose time is virtual."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import selectors
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar


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


T = TypeVar("T")


def run_in_virtual_time(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that waits for nothing but timers and itself.

    However busy the machine is, what starts in one step of the loop has the same deadline.
    """
    with asyncio.Runner(loop_factory=_VirtualLoop) as runner:
        return runner.run(main)


class _Idle(selectors.SelectSelector):
    """Says how long the loop would have waited, instead of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.waited = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if not found and timeout is not None:
            self.waited += timeout
        return found


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._idle = _Idle()
        super().__init__(self._idle)

    def time(self) -> float:
        return self._idle.waited
