"""Which batches L1 has to book next: those that are executed, and those whose books it rejected before."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from entresol.rollup.step_loop import Backoff
    from entresol.storage.batch_table import BatchTable

SCANNED_PER_STEP: Final = 1_024
RETRIES_PER_BLOCK: Final = 4
"""How many rejected batches are tried again because L1 has a new block: each is an estimate."""
MAX_REJECTED: Final = 16_384
"""How many rejected batches are tried again; a restart finds all others."""


class _Rejected(NamedTuple):
    """When a rejected batch is tried again, the pause after that, and the L1 block at which it was tried."""

    at: float
    pause: float
    block: int


class BookQueue:
    """The batches to book: executed ones with messages, the oldest first, then rejected ones in turn.

    Remembers: up to which batch it has looked, what it found there, and when rejected ones are due. Persists: nothing;
    it looks at all batches again after a start. Fails: never.
    """

    def __init__(self, batches: BatchTable, backoff: Backoff) -> None:
        self._batches = batches
        self._backoff = backoff
        self._next = 1
        self._due: list[int] = []
        self._rejected: dict[int, _Rejected] = {}
        self._retries = (0, 0)
        self.last_booked = 0
        """The highest batch that is booked, of those that it has looked at."""

    def __len__(self) -> int:
        return len(self._due) + len(self._rejected)

    @property
    def rejected(self) -> int:
        """How many batches L1 rejects."""
        return len(self._rejected)

    @property
    def first_rejected(self) -> int | None:
        """The first of them."""
        return min(self._rejected, default=None)

    def reset(self) -> None:
        """Look at all batches again: some may be others now."""
        self._next, self._due, self._rejected, self.last_booked = 1, [], {}, 0

    def scan(self, executed: int) -> bool:
        """Look at some more batches up to the last executed one; return whether there are more."""
        last = min(executed, self._next + SCANNED_PER_STEP - 1)
        for number in range(self._next, last + 1):
            if self._batches.books.get(number) is not None:
                self.last_booked = max(self.last_booked, number)
                continue
            batch = self._batches.get(number)
            if batch is not None and batch.has_messages:
                heapq.heappush(self._due, number)
        self._next = max(self._next, last + 1)
        return self._next <= executed

    def first(self, now: float, block: int) -> int | None:
        """Return the batch to try next, at a block of L1; None if all wait for later."""
        if self._due:
            return self._due[0]
        if not self._rejected:
            return None
        number = min(self._rejected, key=lambda it: self._rejected[it].at)
        if self._rejected[number].at <= now:
            return number
        # What a batch lacks may be there now: the one that was tried longest ago comes first.
        number = min(self._rejected, key=lambda it: (self._rejected[it].block, it))
        at_block, count = self._retries
        if self._rejected[number].block >= block or (at_block == block and not count):
            return None
        self._retries = block, (count if at_block == block else RETRIES_PER_BLOCK) - 1
        return number

    def add(self, number: int) -> None:
        """Add a batch whose attempt came to nothing."""
        self._rejected.pop(number, None)
        if number not in self._due:
            heapq.heappush(self._due, number)

    def on_booked(self, number: int) -> None:
        """Remove a batch that is booked."""
        self._remove(number)
        self._rejected.pop(number, None)
        self.last_booked = max(self.last_booked, number)

    def on_sent(self, number: int) -> None:
        """Remove a batch while its transaction is pending."""
        self._remove(number)

    def on_rejected(self, number: int, now: float, block: int) -> None:
        """Try a batch again later, each time after a longer pause, or when L1 has another block."""
        self._remove(number)
        before = self._rejected.pop(number, None)
        pause = self._backoff.first() if before is None else self._backoff.after(before.pause)
        if len(self._rejected) >= MAX_REJECTED:
            del self._rejected[max(self._rejected, key=lambda it: self._rejected[it].pause)]
        self._rejected[number] = _Rejected(now + pause, pause, block)

    def skip(self, number: int) -> None:
        """Do not try a batch again."""
        self._remove(number)
        self._rejected.pop(number, None)

    def _remove(self, number: int) -> None:
        if number in self._due:
            self._due.remove(number)
            heapq.heapify(self._due)
