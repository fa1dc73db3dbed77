"""Recent events of a chain, stored once for all filters; each filter has a position in them.

Positions count from the start of the node and never repeat, so that a filter which fell behind the oldest
stored event is recognised.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from entresol.primitives.headers import number_and_timestamp
from entresol.primitives.values import Hash32
from entresol.rpc.cache import BlockLogs

if TYPE_CHECKING:
    from entresol.chain.events import BlocksReverted
    from entresol.primitives.records import BlockRecord

MAX_PENDING_HASHES: Final = 65_536
MAX_REMOVED_BYTES: Final = 64 * 1024 * 1024
MAX_REORGS: Final = 4_096
"""How many reorgs a filter may miss: a poll reads all of them."""

_BYTES_PER_HASH: Final = 96
MAX_EVENT_BYTES: Final = MAX_REMOVED_BYTES + _BYTES_PER_HASH * MAX_PENDING_HASHES
"""How much memory all events take that filters have not read."""
_BYTES_PER_REORG: Final = 256
_BYTES_PER_RECORD_BYTE: Final = 4
"""How many bytes the rendered logs of a record take for each byte of the record."""


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


class Reorg:
    """A reorg to block `head`, with the logs that it removed; any thread may read them.

    The logs of a block are taken from its record when a filter first needs them.
    """

    __slots__ = ("_blocks", "_records", "head", "weight")

    def __init__(self, event: BlocksReverted) -> None:
        self.head = event.head
        self.weight = _BYTES_PER_REORG + _BYTES_PER_RECORD_BYTE * event.size
        # The newest first.
        self._records = event.records
        self._blocks: dict[int, BlockLogs] = {}

    def count(self, first: int, last: int) -> int:
        """Return how many reverted blocks from `first` to `last` may have had logs."""
        return len(self._range(first, last))

    def between(self, first: int, last: int) -> Iterator[BlockLogs]:
        """Yield the removed logs of the blocks from `first` to `last`, the oldest first."""
        for index in reversed(self._range(first, last)):
            record = self._records[index]
            if any(result.logs for result in record.results):
                if (found := self._blocks.get(index)) is None:
                    found = self._blocks[index] = BlockLogs(record, None, removed=True)
                yield found

    def _range(self, first: int, last: int) -> range:
        start = bisect_left(self._records, -last, key=_descending)
        return range(start, bisect_right(self._records, -first, lo=start, key=_descending))


def _descending(record: BlockRecord) -> int:
    return -number_and_timestamp(record.header_rlp)[0]


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
        if unread == 0:
            return []
        if unread > len(self._reorgs):
            return None
        newest = list(islice(reversed(self._reorgs), unread))
        newest.reverse()
        return newest

    def clear(self) -> None:
        """Drop all reorgs; positions go on."""
        self._reorgs.clear()
        self._weight = 0
