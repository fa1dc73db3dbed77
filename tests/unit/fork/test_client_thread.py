"""The thread of a remote's client."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import CancelledError

import pytest

from entresol.fork.client_thread import ClientThread
from tests.support.polling import PATIENCE_SECONDS


async def nothing() -> None:
    """Do nothing."""


async def never() -> None:
    """Wait without end."""
    await asyncio.Event().wait()


def test_what_is_begun_while_it_stops_is_rejected_and_never_hangs() -> None:
    thread = ClientThread("test")
    stopping, go_on = threading.Event(), threading.Event()

    async def last() -> None:
        stopping.set()
        await asyncio.to_thread(go_on.wait)

    stopper = threading.Thread(target=thread.stop, args=(last(),))
    stopper.start()
    assert stopping.wait(PATIENCE_SECONDS)
    with pytest.raises(RuntimeError, match="is stopped"):
        thread.begin(nothing())
    assert not thread.soon(lambda: None)
    go_on.set()
    stopper.join()
    thread.stop(nothing())


def test_what_runs_is_cancelled_with_all_that_it_begins() -> None:
    thread = ClientThread("test")
    started = threading.Event()
    begun: list[asyncio.Task[None]] = []

    async def forever() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            begun.append(asyncio.get_running_loop().create_task(never()))

    future = thread.begin(forever())
    assert started.wait(PATIENCE_SECONDS)
    thread.stop(nothing())
    with contextlib.suppress(CancelledError):
        future.result(0)
    assert future.cancelled()
    assert begun[0].cancelled()
