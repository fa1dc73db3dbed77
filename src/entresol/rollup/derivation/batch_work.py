"""Work on the blocks of a batch, which others have published and which may take long."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from entresol._native import CancelFlag
from entresol.errors import ExecutionCancelled

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


async def run_blocks(work: Callable[[Callable[[int], None]], T], show: Callable[[int], None]) -> T:
    """Return what work returns that calls its argument before each block; if this is cancelled, so is the work.

    The work has a thread of its own, since signals reach only an event loop that turns. `show` is called there, with
    the number of each block; a cancelled work ends within a transaction, and what it raises is dropped.
    """
    flag = CancelFlag()

    def before(block: int) -> None:
        if flag.is_set:
            raise ExecutionCancelled
        show(block)

    def run() -> T:
        with flag:
            return work(before)

    running = asyncio.ensure_future(asyncio.to_thread(run))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        flag.set()
        await asyncio.gather(running, return_exceptions=True)
        raise
