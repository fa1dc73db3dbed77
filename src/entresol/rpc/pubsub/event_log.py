"""What lately happened to a chain, kept once for all filters; each has a place in it.

Positions count from the beginning and never come again, so a filter that fell behind what is kept can be told.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.primitives.values import Hash32
from entresol.rpc.cache.block_logs import BlockLogs

if TYPE_CHECKING:
    from entresol.chain.events import BlocksReverted

ARRIVALS_KEPT: Final = 65_536
REMOVED_BYTES_KEPT: Final = 64 * 1024 * 1024

_BYTES_PER_RETREAT: Final = 256


class PendingHashes:
    """The hashes of the transactions that came last, in the order in which they came."""

    def __init__(self, kept: int = ARRIVALS_KEPT) -> None:
        self._hashes: deque[Hash32] = deque(maxlen=kept)
        self.end = 0

    def add(self, transaction_hash: Hash32) -> None:
        """Note a transaction; the oldest gives way to it."""
        self._hashes.append(transaction_hash)
        self.end += 1

    def since(self, position: int, limit: int) -> tuple[list[Hash32], int]:
        """Return at most `limit` hashes from `position` on, and the position after them.

        What is no longer kept is left out.
        """
        unread = min(self.end - position, len(self._hashes))
        newest = list(islice(reversed(self._hashes), unread))
        newest.reverse()
        found = newest[:limit]
        return found, self.end - unread + len(found)


class Reorg(msgspec.Struct, frozen=True):
    """The chain went back to block `head`; of the blocks that are gone, the logs are kept."""

    head: int
    blocks: tuple[BlockLogs, ...]
    """The gone blocks that had logs, the oldest first."""
    weight: int

    @classmethod
    def of(cls, event: BlocksReverted) -> Reorg:
        """Keep of an event what filters need."""
        blocks = tuple(
            BlockLogs(record, None, removed=True)
            for record in reversed(event.records)
            if any(outcome.logs for outcome in record.results)
        )
        return cls(event.head, blocks, _BYTES_PER_RETREAT + sum(it.weight for it in blocks))

    def between(self, first: int, last: int) -> Iterator[BlockLogs]:
        """Yield those of the blocks from `first` to `last`."""
        return (it for it in self.blocks if first <= it.number <= last)


class ReorgLog:
    """The last times the chain went back, as many as fit into a given amount of memory."""

    def __init__(self, bytes_kept: int = REMOVED_BYTES_KEPT) -> None:
        self._retreats: deque[Reorg] = deque()
        self._bytes_kept = bytes_kept
        self._weight = 0
        self.end = 0

    def add(self, retreat: Reorg) -> None:
        """Note that the chain went back; what is oldest gives way to it."""
        self._retreats.append(retreat)
        self._weight += retreat.weight
        self.end += 1
        while self._weight > self._bytes_kept:
            self._weight -= self._retreats.popleft().weight

    def since(self, position: int) -> list[Reorg] | None:
        """Return what came from `position` on, or nothing if a part of it is no longer kept."""
        unread = self.end - position
        if unread > len(self._retreats):
            return None
        newest = list(islice(reversed(self._retreats), unread))
        newest.reverse()
        return newest

    def forget(self) -> None:
        """Let go of everything; positions go on."""
        self._retreats.clear()
        self._weight = 0
