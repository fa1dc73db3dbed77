"""Tasks that run in the background for as long as the node does."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

logger = logging.getLogger(__name__)

RESTART_SECONDS: Final = 1.0


def supervised(name: str, run: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
    """Start a service that never ends: one that fails nevertheless is logged, and started again."""
    return asyncio.create_task(_supervise(name, run))


async def _supervise(name: str, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
    while True:
        try:
            await run()
        except Exception:
            logger.exception("%s failed; starting again", name)
        else:
            logger.error("%s ended; starting again", name)
        await asyncio.sleep(RESTART_SECONDS)


async def cancel(*tasks: asyncio.Task[None] | None) -> None:
    """Cancel tasks and wait for their ends, whatever those are; None was never started.

    The event loop of a task that has ended may be closed.
    """
    started = [task for task in tasks if task is not None]
    running = [task for task in started if not task.done()]
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    for task in started:
        if not task.cancelled():
            # What nobody has retrieved, asyncio logs.
            task.exception()
