"""Work for an event loop on a thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from entresol.errors import DevnetStopped
from entresol.inprocess.loop_thread import LoopThread


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    loop = LoopThread("a loop")
    loop.start()
    yield loop
    loop.stop()


async def later(result: bytes) -> bytes:
    await asyncio.sleep(0)
    return result


async def fail() -> bytes:
    raise ValueError("it fails")


def test_a_response_may_come_at_once_or_later(loop: LoopThread) -> None:
    assert loop.submit(lambda: b"now").result() == b"now"
    assert loop.submit(lambda: later(b"later")).result() == b"later"
    assert loop.submit(lambda: None).result() is None


def test_what_the_work_raises_is_raised(loop: LoopThread) -> None:
    def broken() -> bytes:
        raise ValueError("it is broken")

    with pytest.raises(ValueError, match="it is broken"):
        loop.submit(broken).result()
    with pytest.raises(ValueError, match="it fails"):
        loop.submit(fail).result()
    with pytest.raises(ValueError, match="it fails"):
        loop.run(fail())


def test_what_is_pending_fails_when_it_stops(loop: LoopThread) -> None:
    async def never() -> bytes:
        await asyncio.Event().wait()
        return b""

    pending = loop.submit(never)
    loop.submit(lambda: None).result()
    loop.stop()
    with pytest.raises(DevnetStopped):
        pending.result()


def test_nothing_is_accepted_before_it_starts_and_after_it_stops(loop: LoopThread) -> None:
    loop.stop()
    loop.stop()
    for stopped in (loop, LoopThread("never started")):
        with pytest.raises(DevnetStopped):
            stopped.submit(lambda: b"")
        with pytest.raises(DevnetStopped):
            stopped.run(later(b""))
        stopped.call_soon(lambda: None)
