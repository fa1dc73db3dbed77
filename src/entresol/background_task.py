"""Tasks that run in the background for as long as the node does."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

logger = logging.getLogger(__name__)

RESTART_SECONDS: Final = 1.0
STEADY_SECONDS: Final = 1.0
"""How long a task that was started again has to run until its failure is over."""


class BackgroundTask:
    """Runs something that never ends: if it fails nevertheless, that is logged, and it is started again."""

    def __init__(self, name: str, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._name = name
        self._run = run
        self._task: asyncio.Task[None] | None = None
        self._failure: str | None = None
        self._steady_at = 0.0

    @property
    def problem(self) -> str | None:
        """Why it does not run, or did not a moment ago; None if it does."""
        return None if time.monotonic() >= self._steady_at else self._failure

    @property
    def was_started(self) -> bool:
        """Whether it was ever started."""
        return self._task is not None

    def start(self) -> None:
        """Run from now on."""
        self._task = asyncio.create_task(self._supervise())

    async def stop(self) -> None:
        """Run no more; nothing happens if it was never started."""
        await cancel(self._task)

    async def _supervise(self) -> None:
        while True:
            try:
                await self._run()
            except Exception as error:
                logger.exception("%s failed; starting again", self._name)
                # The health of a node is public where its log is not, and an error may have anything in its text.
                self._failed(f"{self._name} failed: {type(error).__name__}; the log has more")
            else:
                logger.error("%s ended; starting again", self._name)
                self._failed(f"{self._name} ended")
            await asyncio.sleep(RESTART_SECONDS)

    def _failed(self, problem: str) -> None:
        self._failure = problem
        self._steady_at = time.monotonic() + RESTART_SECONDS + STEADY_SECONDS


async def stop_all(tasks: Iterable[BackgroundTask]) -> None:
    """Stop tasks at the same time."""
    await asyncio.gather(*(task.stop() for task in tasks))


async def cancel(*tasks: asyncio.Task[Any] | None) -> None:
    """Cancel tasks and wait for their ends, whatever those are; None was never started, and the loop of an ended one may be closed."""
    started = [task for task in tasks if task is not None]
    running = [task for task in started if not task.done()]
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    for task in started:
        if not task.cancelled():
            # What nobody has retrieved, asyncio logs.
            task.exception()
