"""The end of a task in the background."""

from __future__ import annotations

import asyncio


async def cancel(task: asyncio.Task[None] | None) -> None:
    """Cancel a task and wait for its end, whatever that is; None was never started."""
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
