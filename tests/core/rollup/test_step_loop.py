"""The loop of the long-lived components: back-off, logging and waking."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable

import pytest

from entresol.errors import LayerOneMismatch, LayerOneUnreachable
from entresol.rollup.step_loop import Backoff, StepLoop, WakeLimit

log = logging.getLogger("entresol.test")

BACKOFF = Backoff(2.0)

AWAY = LayerOneUnreachable("http://l1", "connection refused")
OTHER = LayerOneMismatch("batch 1 is another one")


class Component:
    """A component whose steps fail, or succeed with a delay, as listed."""

    def __init__(self, *results: float | Exception) -> None:
        self.results = list(results)

    async def step(self) -> float:
        result = self.results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result


def worker(
    component: Component, backoff: Backoff = BACKOFF, recovered: str | None = None
) -> StepLoop:
    return StepLoop(
        component.step, log, failing="cannot work", recovered=recovered, backoff=backoff
    )


def delays(component: Component, backoff: Backoff = BACKOFF) -> list[float]:
    async def play() -> list[float]:
        started = worker(component, backoff)
        return [await started.step() for _ in list(component.results)]

    return asyncio.run(play())


def test_retries_back_off_up_to_a_maximum_and_start_over_after_a_success() -> None:
    component = Component(AWAY, AWAY, AWAY, AWAY, 1.0, AWAY)
    assert delays(component) == [2.0, 4.0, 5.0, 5.0, 1.0, 2.0]


def test_the_first_retry_is_not_later_than_the_maximum() -> None:
    assert delays(Component(AWAY, AWAY), Backoff(9.0, 3.0)) == [3.0, 3.0]


@pytest.mark.parametrize(
    ("errors", "logged"),
    [
        ([AWAY, AWAY, AWAY], [("WARNING", f"cannot work: {AWAY}")]),
        (
            [AWAY, OTHER, OTHER],
            [("WARNING", f"cannot work: {AWAY}"), ("ERROR", f"cannot work: {OTHER}")],
        ),
        ([OTHER, 1.0, OTHER], [("ERROR", f"cannot work: {OTHER}")] * 2),
    ],
)
def test_a_failure_is_logged_once_until_it_changes(
    errors: list[float | Exception], logged: list[tuple[str, str]], caplog: pytest.LogCaptureFixture
) -> None:
    delays(Component(*errors))
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == logged


async def test_the_problem_is_the_last_failure_and_recovery_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    started = worker(Component(AWAY, 1.0, 1.0), recovered="works again")
    await started.step()
    assert started.problem == str(AWAY)
    with caplog.at_level(logging.INFO):
        await started.step()
        await started.step()
    assert [record.getMessage() for record in caplog.records][1:] == ["works again"]
    assert started.problem is None


async def test_an_unexpected_error_is_retried_and_logged_once_with_its_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    started = worker(Component(ZeroDivisionError("by zero"), ZeroDivisionError("by zero"), 1.0))
    assert [await started.step(), await started.step()] == [2.0, 4.0]
    assert started.problem == "unexpected ZeroDivisionError: by zero"
    assert await started.step() == 1.0
    (logged,) = caplog.records
    assert logged.getMessage() == "cannot work: unexpected ZeroDivisionError: by zero"
    assert logged.exc_info is not None
    assert started.problem is None


def test_a_wait_that_fails_does_not_end_the_loop() -> None:
    waits = 0

    def fail_once(_worker: StepLoop, _seconds: float) -> None:
        nonlocal waits
        waits += 1
        if waits == 1:
            raise OverflowError

    run_until_idle(Component(0.5, 0.25, math.inf), fail_once, Backoff(0.001))
    assert waits == 2


def run_until_idle(
    component: Component, wait: Callable[[StepLoop, float], None], backoff: Backoff = BACKOFF
) -> None:
    """Run a worker that waits by calling `wait`, until it would wait for ever."""

    class IdleError(BaseException):
        """There is nothing left to do; no `Exception` ends a worker."""

    async def waited(seconds: float) -> None:
        if seconds == math.inf:
            raise IdleError
        wait(running, seconds)

    running = StepLoop(component.step, log, failing="cannot work", backoff=backoff, wait=waited)
    with pytest.raises(IdleError):
        asyncio.run(running.run())


def test_running_waits_between_steps_unless_there_is_more_to_do() -> None:
    waits: list[float] = []
    run_until_idle(Component(0.5, 0.0, 0.25, math.inf), lambda _, seconds: waits.append(seconds))
    assert waits == [0.5, 0.25]


async def test_waking_ends_the_current_or_the_next_sleep() -> None:
    started = worker(Component())
    started.wake()
    await started.sleep(math.inf)
    sleeping = asyncio.create_task(started.sleep(math.inf))
    await asyncio.sleep(0)
    assert not sleeping.done()
    started.wake()
    await sleeping
    await started.sleep(0.001)


async def test_many_wakes_in_a_short_time_are_two() -> None:
    last = asyncio.Event()
    passed: list[None] = []

    def wake() -> None:
        passed.append(None)
        if len(passed) == 2:
            last.set()

    limit = WakeLimit(wake, 0.01)
    for _ in range(100):
        limit()
    at_once = len(passed)
    await last.wait()
    assert (at_once, len(passed)) == (1, 2)


async def test_a_closed_limit_wakes_nothing() -> None:
    passed: list[None] = []
    limit = WakeLimit(lambda: passed.append(None), 0.001)
    limit()
    limit()
    limit.close()
    over = asyncio.Event()
    asyncio.get_running_loop().call_later(0.005, over.set)
    await over.wait()
    assert len(passed) == 1
