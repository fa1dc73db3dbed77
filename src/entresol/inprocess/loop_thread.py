"""An event loop on a thread of its own, which other threads and event loops submit work to."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeAlias, TypeVar

import uvloop

from entresol.errors import DevnetStopped

T = TypeVar("T")

Served: TypeAlias = bytes | None
Serve: TypeAlias = Callable[[], Served | Awaitable[Served]]
"""Serves one request: at once if that is possible, else through an awaitable."""


class LoopThread:
    """Runs an event loop, from the first `start` to `stop`.

    Remembers: what was submitted and has no result yet. Assumes: callers on other threads; one on its own would wait
    for itself. Fails: with `DevnetStopped`, also for what is pending when it stops.
    """

    def __init__(self, name: str) -> None:
        # A program that never stops it can end all the same, because `at_exit` stops it then.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._ready = threading.Event()
        self._pending: set[Future[Any]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None

    def start(self) -> None:
        """Start the thread, and return once its event loop runs."""
        self._thread.start()
        self._ready.wait()

    def stop(self) -> None:
        """Cancel what still runs, and return once the thread has ended."""
        loop, stopping = self._loop, self._stopping
        if loop is None or stopping is None:
            return
        try:
            loop.call_soon_threadsafe(stopping.set)
        except RuntimeError:
            return
        self._thread.join()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the event loop, and return its result."""
        loop = self._loop
        if loop is None or loop.is_closed() or self._is_own_thread():
            work.close()
            raise DevnetStopped
        future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            return future.result()
        except BaseException:
            # Of the caller, as Ctrl-C; what the work itself raised is done.
            future.cancel()
            raise

    def submit(self, serve: Serve) -> Future[Served]:
        """Have a request served on the event loop, and return its future response."""
        loop, future = self._loop, Future[Served]()
        if loop is None or self._is_own_thread():
            raise DevnetStopped
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        try:
            loop.call_soon_threadsafe(self._serve, serve, future)
        except RuntimeError:
            self._pending.discard(future)
            raise DevnetStopped from None
        return future

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Call a function on the event loop; if it has stopped, never."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(callback)

    def _is_own_thread(self) -> bool:
        return threading.current_thread() is self._thread

    def _serve(self, serve: Serve, future: Future[Served]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            response = serve()
        except Exception as error:  # noqa: BLE001 - the caller gets it
            future.set_exception(error)
            return
        if response is None or isinstance(response, bytes):
            future.set_result(response)
        else:
            task = asyncio.get_running_loop().create_task(_await(response, future))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._wait())
        for future in tuple(self._pending):
            if not future.done():
                future.set_exception(DevnetStopped())

    async def _wait(self) -> None:
        self._stopping = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._ready.set()
        await self._stopping.wait()


async def _await(response: Awaitable[Served], future: Future[Served]) -> None:
    try:
        future.set_result(await response)
    except asyncio.CancelledError:
        future.set_exception(DevnetStopped())
        raise
    except Exception as error:  # noqa: BLE001 - the caller gets it
        future.set_exception(error)
