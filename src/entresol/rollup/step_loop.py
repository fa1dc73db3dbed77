"""Loop of the long-lived components: repeat a step, back off while it fails, log each failure once."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.errors import EntresolError, LayerOneUnreachable, StateMissing
from entresol.state_missing import fetched

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

MAX_RETRY_SECONDS: Final = 5.0


class Backoff(msgspec.Struct, frozen=True):
    """The delay after a failure, which doubles with each further one up to a maximum."""

    seconds: float
    max_seconds: float = MAX_RETRY_SECONDS

    def first(self) -> float:
        """Return the delay after the first failure."""
        return min(self.seconds, self.max_seconds)

    def after(self, delay: float) -> float:
        """Return the delay that follows `delay`."""
        return min(2 * delay, self.max_seconds)


class WakeLimit:
    """Passes calls on to `wake`: the first at once, those within `seconds` of it as one, when they are over."""

    def __init__(self, wake: Callable[[], None], seconds: float) -> None:
        self._wake = wake
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._earliest = -math.inf
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self) -> None:
        """Wake, now or soon."""
        if self._timer is not None:
            return
        if self._loop.time() >= self._earliest:
            self._pass_on()
        else:
            self._timer = self._loop.call_at(self._earliest, self._pass_on)

    def close(self) -> None:
        """Pass on nothing more."""
        if self._timer is not None:
            self._timer.cancel()

    def _pass_on(self) -> None:
        self._timer = None
        self._earliest = self._loop.time() + self._seconds
        self._wake()


def describe(error: Exception) -> str:
    """Return what an operator reads of an error; one that is not expected has its type."""
    if isinstance(error, EntresolError):
        return str(error)
    return f"unexpected {type(error).__name__}: {error}"


class StepLoop:
    """Repeats a component's step until it is cancelled.

    The step returns the seconds until the next one: 0 for at once, `math.inf` for not before `wake`. Whatever a step
    raises is logged if it is not the last failure again, with its traceback if it is not an `EntresolError`, and the
    step is retried.
    """

    def __init__(
        self,
        step: Callable[[], Awaitable[float]],
        log: logging.Logger,
        *,
        failing: str,
        recovered: str | None = None,
        backoff: Backoff,
        wait: Callable[[float], Awaitable[None]] | None = None,
    ) -> None:
        self._step = step
        self._log = log
        self._failing = failing
        self._recovered = recovered
        self._backoff = backoff
        self._next_delay = backoff.first()
        self._wait = wait or self.sleep
        self._woken = asyncio.Event()
        self.problem: str | None = None
        """Why the last step failed; None if it succeeded."""

    def wake(self) -> None:
        """End the current `sleep`, or the next one."""
        self._woken.set()

    async def run(self) -> None:
        """Repeat the step for ever."""
        while True:
            delay = await self.step()
            if delay:
                await self._pause(delay)
            else:
                # Steps on an embedded L1 never suspend, and other tasks must get to run.
                await asyncio.sleep(0)

    async def step(self) -> float:
        """Run one step, and return the seconds until the next one."""
        try:
            delay = await self._step()
        except StateMissing as missing:
            return await self._fetched(missing)
        except Exception as error:  # noqa: BLE001 - a component must not end
            return self._failed(error)
        if self.problem is not None and self._recovered is not None:
            self._log.info(self._recovered)
        self.problem, self._next_delay = None, self._backoff.first()
        return delay

    async def _fetched(self, missing: StateMissing) -> float:
        """Fetch what a step on a fork lacks, so that the next one has it."""
        try:
            await fetched(missing)
        except Exception as error:  # noqa: BLE001 - a component must not end
            return self._failed(error)
        return 0.0

    async def sleep(self, seconds: float) -> None:
        """Sleep so many seconds, or until `wake`."""
        with contextlib.suppress(TimeoutError):
            # Not `wait_for`, which on Python 3.11 can lose a cancellation.
            async with asyncio.timeout(None if seconds == math.inf else seconds):
                await self._woken.wait()
        self._woken.clear()

    async def _pause(self, seconds: float) -> None:
        try:
            await self._wait(seconds)
        except Exception as error:  # noqa: BLE001 - a component must not end
            await asyncio.sleep(self._failed(error))

    def _failed(self, error: Exception) -> float:
        problem = describe(error)
        if problem != self.problem:
            is_known = isinstance(error, EntresolError)
            level = logging.WARNING if isinstance(error, LayerOneUnreachable) else logging.ERROR
            self._log.log(
                level, "%s: %s", self._failing, problem, exc_info=None if is_known else error
            )
        self.problem = problem
        delay = self._next_delay
        self._next_delay = self._backoff.after(delay)
        return delay


class Stepping:
    """A component that repeats a step for ever."""

    _steps: StepLoop

    @property
    def problem(self) -> str | None:
        """Why the last step failed; None if it succeeded."""
        return self._steps.problem

    async def run(self) -> None:
        """Repeat the step for ever."""
        await self._steps.run()
