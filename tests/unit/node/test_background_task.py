"""The end of tasks in the background."""

from __future__ import annotations

import asyncio

from entresol.node.background_task import cancel


async def _fail() -> None:
    raise ValueError


def test_tasks_have_ended_when_they_are_cancelled() -> None:
    async def scenario() -> list[bool]:
        tasks = [asyncio.create_task(asyncio.sleep(3600)) for _ in range(2)]
        await cancel(*tasks)
        return [task.cancelled() for task in tasks]

    assert asyncio.run(scenario()) == [True, True]


def test_a_task_that_has_failed_ends_like_any_other() -> None:
    async def scenario() -> None:
        task = asyncio.create_task(_fail())
        await asyncio.wait([task])
        await cancel(task)

    asyncio.run(scenario())


def test_a_task_that_was_never_started_has_ended() -> None:
    asyncio.run(cancel(None))


def test_a_task_of_an_event_loop_that_is_closed_has_ended() -> None:
    async def start() -> asyncio.Task[None]:
        task = asyncio.create_task(_fail())
        await asyncio.wait([task])
        return task

    asyncio.run(cancel(asyncio.run(start())))
