"""Logs of one contract over a long range of blocks, with few of them in memory at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from entresol.l1.layer_one import L1Log, LayerOne
    from entresol.primitives.values import Address, Hash32

FIRST_WINDOW: Final = 64
MAX_WINDOW: Final = 1_024
"""If every block has a commit of the maximum size, these are 130 MB."""
MANY_BYTES: Final = 16 << 20


async def logs_in_windows(
    l1: LayerOne, address: Address, topics: Sequence[Hash32], first: int, last: int
) -> AsyncGenerator[L1Log, None]:
    """Yield the logs of a contract in a range of blocks, in order; as few blocks at a time as their logs are large."""
    window = FIRST_WINDOW
    while first <= last:
        until = min(last, first + window - 1)
        found = await l1.logs(address, topics, first, until)
        size = sum(len(it.data) for it in found)
        for log in found:
            yield log
        if size > MANY_BYTES:
            window = max(1, window // 2)
        elif size < MANY_BYTES // 4:
            window = min(2 * window, MAX_WINDOW)
        first = until + 1
