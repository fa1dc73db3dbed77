"""Logs over a long range, read in windows that follow their size."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from entresol.l1.availability.log_windows import (
    FIRST_WINDOW,
    MANY_BYTES,
    MAX_WINDOW,
    logs_in_windows,
)
from entresol.l1.layer_one import L1Log
from entresol.primitives.values import Address, Hash32

CONTRACT = Address(b"\xcc" * 20)


class Recorded:
    """An L1 that has a log of some size in each block, and remembers which ranges it was asked for."""

    def __init__(self, size_at: Callable[[int], int]) -> None:
        self.ranges: list[tuple[int, int]] = []
        self._size_at = size_at

    async def logs(self, address: Address, topics: object, first: int, last: int) -> list[L1Log]:
        """Return the logs of a range."""
        assert (address, topics) == (CONTRACT, [Hash32.zero()])
        self.ranges.append((first, last))
        return [
            L1Log(
                address=address,
                topics=(),
                data=bytes(self._size_at(number)),
                block_number=number,
                block_hash=Hash32.zero(),
                transaction_hash=Hash32.zero(),
                index=0,
            )
            for number in range(first, last + 1)
            if self._size_at(number)
        ]


def read(l1: Recorded, first: int, last: int) -> list[int]:
    async def play() -> list[int]:
        found = logs_in_windows(l1, CONTRACT, [Hash32.zero()], first, last)  # type: ignore[arg-type]
        return [log.block_number async for log in found]

    return asyncio.run(play())


def test_every_block_is_asked_for_once_and_logs_are_in_order() -> None:
    l1 = Recorded(lambda number: number % 3 == 0)
    assert read(l1, 5, 5_000) == [it for it in range(5, 5_001) if it % 3 == 0]
    assert l1.ranges[0] == (5, 5 + FIRST_WINDOW - 1)
    assert all(
        right[0] == left[1] + 1 for left, right in zip(l1.ranges, l1.ranges[1:], strict=False)
    )
    assert l1.ranges[-1][1] == 5_000


def test_windows_grow_where_logs_are_few() -> None:
    l1 = Recorded(lambda _: 0)
    assert read(l1, 0, 100_000) == []
    assert max(last - first + 1 for first, last in l1.ranges) == MAX_WINDOW
    assert len(l1.ranges) < 110


def test_windows_shrink_where_logs_are_large() -> None:
    l1 = Recorded(lambda number: MANY_BYTES // 2 if number < 150 else 0)
    assert read(l1, 0, 200) == list(range(150))
    assert min(last - first + 1 for first, last in l1.ranges) <= 2


def test_an_empty_range_asks_for_nothing() -> None:
    l1 = Recorded(lambda _: 1)
    assert read(l1, 5, 4) == []
    assert l1.ranges == []
