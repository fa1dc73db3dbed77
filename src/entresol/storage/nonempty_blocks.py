"""Which blocks have transactions or state changes, so that a revert reads no empty ones."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from itertools import chain
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol.primitives.records import BlockRecord

MAX_BLOCKS: Final = 1_000_000
"""How many are remembered, eight bytes each; older blocks count as unknown."""


class NonEmptyBlocks:
    """The numbers of the blocks with contents, among those that were appended since the store was opened.

    Remembers: them, in order, and from which block on they are known. Persists: nothing. Assumes: one writer.
    """

    def __init__(self, head: int | None, first: int = 0, max_blocks: int = MAX_BLOCKS) -> None:
        """Count the blocks from `first`, the genesis, up to `head` as unknown."""
        self._max_blocks = max_blocks
        self.reset(head, first)

    def reset(self, head: int | None, first: int = 0) -> None:
        """Count the blocks from `first`, the genesis, up to `head` as unknown."""
        self._numbers = array("Q")
        self._first = first
        self._known_from = first if head is None else head + 1

    def add(self, number: int, record: BlockRecord) -> None:
        """Add an appended block, if it has contents."""
        if not has_contents(record):
            return
        self._numbers.append(number)
        if len(self._numbers) > self._max_blocks:
            dropped = len(self._numbers) // 2
            self._known_from = self._numbers[dropped - 1] + 1
            del self._numbers[:dropped]

    def above(self, number: int) -> Iterable[int]:
        """Return the blocks above `number` that have contents or are unknown, in order."""
        if self._has_none_above(number):
            return ()
        known = self._numbers[bisect_right(self._numbers, number) :]
        return chain(self._unknown_above(number), known)

    def count_above(self, number: int) -> int:
        """Return how many blocks `above` returns."""
        if self._has_none_above(number):
            return 0
        known = len(self._numbers) - bisect_right(self._numbers, number)
        return known + len(self._unknown_above(number))

    def remove_above(self, number: int) -> None:
        """Remove the blocks above `number`, which were reverted."""
        if not self._has_none_above(number):
            del self._numbers[bisect_right(self._numbers, number) :]
            self._known_from = min(self._known_from, number + 1)

    def _has_none_above(self, number: int) -> bool:
        numbers = self._numbers
        return self._known_from <= number + 1 and (not numbers or numbers[-1] <= number)

    def _unknown_above(self, number: int) -> range:
        return range(max(number + 1, self._first), self._known_from)


def has_contents(record: BlockRecord) -> bool:
    """Return whether a block has transactions or state changes."""
    return bool(record.transactions or record.changes or record.edits or record.codes)
