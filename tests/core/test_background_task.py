"""Tasks in the background: how they end, and that services do not."""

from __future__ import annotations

import asyncio
import time
from unittest.mock import Mock

import pytest

from entresol.background_task import STEADY_SECONDS, BackgroundTask, cancel


async def _fail() -> None:
    raise ValueError


async def test_tasks_have_ended_when_they_are_cancelled() -> None:
    tasks = [asyncio.create_task(asyncio.Event().wait()) for _ in range(2)]
    await cancel(*tasks)
    assert [task.cancelled() for task in tasks] == [True, True]


async def test_a_task_that_has_failed_ends_like_any_other() -> None:
    task = asyncio.create_task(_fail())
    await asyncio.wait([task])
    await cancel(task)


def test_a_task_of_an_event_loop_that_is_closed_has_ended() -> None:
    async def start() -> asyncio.Task[None]:
        task = asyncio.create_task(_fail())
        await asyncio.wait([task])
        return task

    asyncio.run(cancel(asyncio.run(start())))


async def test_a_service_that_fails_or_ends_is_logged_and_started_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("entresol.background_task.RESTART_SECONDS", 0.0)
    starts, restarted = 0, asyncio.Event()

    async def run() -> None:
        nonlocal starts
        starts += 1
        if starts == 1:
            raise ZeroDivisionError
        if starts == 3:
            restarted.set()
            await asyncio.Event().wait()

    task = BackgroundTask("the service", run)
    task.start()
    await restarted.wait()
    problems = [task.problem]
    later = time.monotonic() + STEADY_SECONDS
    with monkeypatch.context() as patch:
        patch.setattr("entresol.background_task.time", Mock(monotonic=lambda: later))
        problems.append(task.problem)
    assert problems == ["the service ended", None]
    await task.stop()
    failed, ended = caplog.records
    assert failed.getMessage() == "the service failed; starting again"
    assert failed.exc_info is not None
    assert ended.getMessage() == "the service ended; starting again"
