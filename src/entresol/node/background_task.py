"""Cancel tasks that run in the background."""

from __future__ import annotations

import asyncio


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
