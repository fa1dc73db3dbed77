"""Recent events of a chain, stored once for all filters; each filter has a position in them.

Positions count from the start of the node and never repeat, so that a filter which fell behind the oldest
stored event is recognised.
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

MAX_PENDING_HASHES: Final = 65_536
MAX_REMOVED_BYTES: Final = 64 * 1024 * 1024
MAX_REORGS: Final = 4_096
"""How many reorgs a filter may miss: a poll reads all of them."""

_BYTES_PER_HASH: Final = 96
MAX_EVENT_BYTES: Final = MAX_REMOVED_BYTES + _BYTES_PER_HASH * MAX_PENDING_HASHES
"""What all events take that filters have not read."""
_BYTES_PER_REORG: Final = 256


class PendingHashes:
    """The hashes of the latest pending transactions, in the order of their arrival."""

    def __init__(self, max_hashes: int = MAX_PENDING_HASHES) -> None:
        self._hashes: deque[Hash32] = deque(maxlen=max_hashes)
        self.end = 0

    @property
    def size(self) -> int:
        """How many bytes the hashes take, roughly."""
        return _BYTES_PER_HASH * len(self._hashes)

    def add(self, transaction_hash: Hash32) -> None:
        """Append a transaction; the oldest is evicted."""
        self._hashes.append(transaction_hash)
        self.end += 1

    def since(self, position: int, limit: int) -> tuple[list[Hash32], int]:
        """Return at most `limit` hashes from `position` on, and the position after them.

        Evicted ones are left out.
        """
        unread = min(self.end - position, len(self._hashes))
        newest = list(islice(reversed(self._hashes), unread))
        newest.reverse()
        found = newest[:limit]
        return found, self.end - unread + len(found)


class Reorg(msgspec.Struct, frozen=True):
    """A reorg to block `head`, with the logs that it removed."""

    head: int
    blocks: tuple[BlockLogs, ...]
    """The reverted blocks that had logs, the oldest first."""
    weight: int

    @classmethod
    def of(cls, event: BlocksReverted) -> Reorg:
        """Take from an event what filters need."""
        blocks = tuple(
            BlockLogs(record, None, removed=True)
            for record in reversed(event.records)
            if any(result.logs for result in record.results)
        )
        return cls(event.head, blocks, _BYTES_PER_REORG + sum(it.weight for it in blocks))

    def between(self, first: int, last: int) -> Iterator[BlockLogs]:
        """Yield the removed logs of the blocks from `first` to `last`."""
        return (it for it in self.blocks if first <= it.number <= last)


class ReorgLog:
    """The latest reorgs, bounded in bytes and in number."""

    def __init__(self, max_bytes: int = MAX_REMOVED_BYTES, max_reorgs: int = MAX_REORGS) -> None:
        self._reorgs: deque[Reorg] = deque()
        self._max_bytes = max_bytes
        self._max_reorgs = max_reorgs
        self._weight = 0
        self.end = 0

    @property
    def size(self) -> int:
        """How many bytes the removed logs take at most."""
        return self._weight

    def add(self, reorg: Reorg) -> None:
        """Append a reorg; the oldest are evicted."""
        self._reorgs.append(reorg)
        self._weight += reorg.weight
        self.end += 1
        while self._weight > self._max_bytes or len(self._reorgs) > self._max_reorgs:
            self._weight -= self._reorgs.popleft().weight

    def since(self, position: int) -> list[Reorg] | None:
        """Return the reorgs from `position` on, or None if some of them are evicted."""
        unread = self.end - position
        if unread > len(self._reorgs):
            return None
        newest = list(islice(reversed(self._reorgs), unread))
        newest.reverse()
        return newest

    def clear(self) -> None:
        """Drop all reorgs; positions go on."""
        self._reorgs.clear()
        self._weight = 0
