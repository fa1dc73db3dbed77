"""Sealing many blocks on request, in slices that let the event loop serve others."""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import TYPE_CHECKING, Final

from entresol.errors import TooManyToSeal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SLICE_SECONDS: Final = 0.002
"""How long blocks are sealed before the event loop serves other requests."""

MAX_BLOCKS: Final = 100_000
"""How many blocks one request may seal: half a minute's work, which cannot be cancelled."""


def block_count(blocks: int | None) -> int:
    """Return how many blocks to seal: one, unless another number is given."""
    count = 1 if blocks is None else blocks
    if count > MAX_BLOCKS:
        raise TooManyToSeal(count, MAX_BLOCKS)
    return count


async def sliced(count: int) -> AsyncIterator[int]:
    """Count to `count`, and yield to the event loop after each slice."""
    end = perf_counter() + SLICE_SECONDS
    for number in range(count):
        if perf_counter() > end:
            await asyncio.sleep(0)
            end = perf_counter() + SLICE_SECONDS
        yield number
