"""The thread and event loop of a remote's client: it responds while every other thread waits or is busy."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

import uvloop

T = TypeVar("T")


class ClientThread:
    """An event loop on a thread of its own.

    Any thread may give it work. Remembers: whether it takes more. Fails: with `RuntimeError` once it is being stopped;
    work that runs then is cancelled.
    """

    def __init__(self, name: str) -> None:
        self._loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        # Work that was given while it stops would never end.
        self._taking = threading.Lock()
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def is_stopped(self) -> bool:
        """Whether it is being stopped: what begins there now may never end."""
        return self._is_stopped

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine there, and block until it has ended."""
        future = self.begin(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine there."""
        with self._taking:
            if not self._is_stopped:
                return asyncio.run_coroutine_threadsafe(work, self._loop)
        work.close()
        raise RuntimeError("the client of the remote is stopped")

    def soon(self, call: Callable[[], None]) -> bool:
        """Call a function there, soon; return whether it will be: not once it is stopped."""
        with self._taking:
            if not self._is_stopped:
                self._loop.call_soon_threadsafe(call)
            return not self._is_stopped

    def stop(self, last: Coroutine[Any, Any, None]) -> None:
        """Cancel what runs there, run one more coroutine, and end the thread."""
        with self._taking:
            was_stopped, self._is_stopped = self._is_stopped, True
        if was_stopped:
            last.close()
            return
        asyncio.run_coroutine_threadsafe(self._ended(last), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _ended(self, last: Coroutine[Any, Any, None]) -> None:
        # Some of it may begin something else while it ends.
        while running := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in running:
                task.cancel()
            await asyncio.wait(running)
        await last

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()
