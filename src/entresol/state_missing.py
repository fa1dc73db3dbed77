"""The ways out if a read needs a value of a fork's remote chain that is not here yet, and raises `StateMissing`.

Nothing waits on the event loop. What is short and changes the chain is called again there once the values are fetched
(`retried`). What executes code goes on on a thread of the fork's own, in rounds that fetch many values at once
(`waited`). Both call the work again from its start, so whatever raises `StateMissing` must have changed nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Final, TypeVar

from entresol._native import wait_for_remote
from entresol.errors import RemoteWaitOver, StateMissing
from entresol.offload import BuildFirst

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol._native import RemoteTable

_T = TypeVar("_T")

_thread: Final = threading.local()

FORK_THREADS: Final = 64
"""How many threads wait for a remote at a time; they are apart from those of local work, and what is beyond queues."""

WAIT_SECONDS: Final = 600.0
"""How long a value is waited for at most. The bounds of its table are shorter, and the client's own time-out is, too."""

MAX_FETCHES: Final = 1_024
"""How often work is called again, because it needs yet another value: as many as an execution may note in a round."""


@cache
def fork_threads() -> ThreadPoolExecutor:
    """Return the threads on which this process waits for remotes, but for those that serve clients."""
    return ThreadPoolExecutor(FORK_THREADS, thread_name_prefix="fork")


def waiting(work: Callable[[], _T]) -> Callable[[], _T]:
    """Return `work` that waits for missing values instead of raising `StateMissing`; not for the event loop.

    From now on it waits: if it is queued behind work that waits for a dead remote in vain, it ends with that.
    """
    begun = time.monotonic()

    def run() -> _T:
        wait_for_remote(WAIT_SECONDS, time.monotonic() - begun)
        _thread.waits = True
        try:
            return work()
        finally:
            wait_for_remote(None)
            _thread.waits = False

    return run


def work_clock() -> float:
    """Return the time on a clock of this thread that stands still while it waits for a remote."""
    return time.thread_time() if getattr(_thread, "waits", False) else time.monotonic()


class RemotePatience:
    """How long one piece of work waits on the event loop for what it misses, however often it begins again."""

    def __init__(self) -> None:
        self._waited = 0.0

    async def fetched(self, missing: StateMissing) -> None:
        """Return once missing values are here; raise why one of them is not."""
        table = missing.table
        left = table.total - self._waited
        begun = time.monotonic()
        try:
            is_known = await _fetched(missing, min(left, table.silence, WAIT_SECONDS))
        finally:
            self._waited += time.monotonic() - begun
        if is_known:
            return
        is_total = left <= table.silence
        seconds = table.total if is_total else table.silence
        first, *others = missing.keys
        raise RemoteWaitOver(table.host, first, len(others), seconds, is_total)


async def fetched(missing: StateMissing) -> None:
    """Return once missing values are here; raise why one of them is not."""
    await RemotePatience().fetched(missing)


async def _fetched(missing: StateMissing, seconds: float) -> bool:
    """Return whether missing values came in so many seconds; raise why one of them cannot."""
    loop = asyncio.get_running_loop()
    is_known: asyncio.Future[bool] = loop.create_future()

    def end(outcome: bool) -> None:  # noqa: FBT001  # a callback
        if not is_known.done():
            is_known.set_result(outcome)

    def on_known() -> None:
        # The event loop may be closed by then.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(end, True)  # noqa: FBT003

    # Not `asyncio.timeout`, which needs a task: methods are run without one until they are suspended.
    too_late = loop.call_later(max(seconds, 0.0), end, False)  # noqa: FBT003
    missing.table.want(missing.keys, on_known)
    try:
        if not await is_known:
            return False
    finally:
        too_late.cancel()
    error = missing.table.failure(missing.keys)
    if error is not None:
        raise error
    return True


async def again(call: Callable[[], _T], needs: BuildFirst | StateMissing) -> _T:
    """Return what `call` returns once it has what it needs: values of a remote, or something that is built first."""
    patience = RemotePatience()
    for _ in range(MAX_FETCHES):
        try:
            if isinstance(needs, BuildFirst):
                return await needs.then(call)
            await patience.fetched(needs)
            return call()
        except (BuildFirst, StateMissing) as other:
            needs = other
    raise needs


async def retried(call: Callable[[], _T]) -> _T:
    """Return what `call` returns on the event loop, after building and fetching what it needs."""
    try:
        return call()
    except (BuildFirst, StateMissing) as needs:
        first = needs
    return await again(call, first)


async def waited(work: Callable[[], _T]) -> _T:
    """Return what `work` returns: on the event loop, or on a thread that waits if it needs values of a remote."""
    try:
        return work()
    except StateMissing:
        pass
    return await asyncio.get_running_loop().run_in_executor(fork_threads(), waiting(work))


async def on_thread(work: Callable[[], _T], remote: RemoteTable | None) -> _T:
    """Return what `work` on a chain returns on a thread; that of a fork with `remote` waits for it."""
    if remote is None:
        return await asyncio.to_thread(work)
    return await asyncio.get_running_loop().run_in_executor(fork_threads(), waiting(work))
