"""Bodies of servers that are not trusted: how long they are, and how many of them are in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from entresol.l1.json_rpc_client import LARGE_BYTES, MAX_LARGE, BodyTooLong, read_bounded

PIECE = b"x" * (64 << 10)


class Bodies:
    """Bodies that arrive at the same time; counts how many of them have a large part in memory."""

    def __init__(self, size: int) -> None:
        self._pieces = size // len(PIECE)
        self._large = 0
        self.most = 0

    async def iter_chunked(self, _: int) -> AsyncIterator[bytes]:
        is_large = False
        for number in range(self._pieces):
            yield PIECE
            # Who asks for more has taken the piece.
            if not is_large and (number + 1) * len(PIECE) > LARGE_BYTES:
                is_large = True
                self._large += 1
                self.most = max(self.most, self._large)
            await asyncio.sleep(0)
        self._large -= is_large


async def received(bodies: Bodies, max_bytes: int, count: int) -> list[Any]:
    """Return the outcomes of bodies that are received at the same time."""
    large = asyncio.Semaphore(MAX_LARGE)
    reads = (read_bounded(cast("Any", bodies), max_bytes, large) for _ in range(count))
    return await asyncio.gather(*reads, return_exceptions=True)


def test_of_many_large_bodies_a_few_are_received_at_a_time() -> None:
    size = 4 * LARGE_BYTES
    bodies = Bodies(size)
    outcomes = asyncio.run(received(bodies, size, 16))
    assert [len(outcome) for outcome in outcomes] == [size] * 16
    assert bodies.most == MAX_LARGE


def test_a_body_that_is_too_long_leaves_its_turn_to_others() -> None:
    outcomes = asyncio.run(received(Bodies(4 * LARGE_BYTES), 2 * LARGE_BYTES, 5))
    assert [type(outcome) for outcome in outcomes] == [BodyTooLong] * 5


@pytest.mark.parametrize("size", [0, len(PIECE), LARGE_BYTES])
async def test_other_bodies_wait_for_no_turn(size: int) -> None:
    taken = asyncio.Semaphore(0)
    assert len(await read_bounded(cast("Any", Bodies(size)), LARGE_BYTES, taken)) == size
