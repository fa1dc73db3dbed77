"""Cancel tasks that run in the background."""

from __future__ import annotations

import asyncio


async def cancel(*tasks: asyncio.Task[None] | None) -> None:
    """Cancel tasks and wait for their ends, whatever those are; None was never started."""
    started = [task for task in tasks if task is not None]
    for task in started:
        task.cancel()
    await asyncio.gather(*started, return_exceptions=True)
