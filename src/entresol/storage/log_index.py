"""Log index: find the blocks that may contain logs of a filter without reading the others."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from entresol.primitives.logs import MAX_TOPICS
from entresol.storage.tables import ADDRESS_OF_LOG, ANY_LOG, LOGS, block_of, number, topic_of_log

if TYPE_CHECKING:
    from entresol.primitives.records import BlockRecord
    from entresol.storage.database.key_value import KeyValueStore

READ_AHEAD: Final = 64
"""Entries that a search reads at once."""

Search: TypeAlias = Callable[[bytes, int], int | None]


class LogQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A log filter: one of the addresses, and at each position one of the topics.

    An empty set matches anything; a log has at least as many topics as there are positions.
    """

    addresses: frozenset[bytes] = frozenset()
    topics: tuple[frozenset[bytes], ...] = ()

    def accepts(self, address: bytes, topics: Sequence[bytes]) -> bool:
        """Return whether a log matches."""
        if self.addresses and address not in self.addresses:
            return False
        if not self.topics:
            return True
        if len(topics) < len(self.topics):
            return False
        return all(
            not wanted or topic in wanted
            for wanted, topic in zip(self.topics, topics, strict=False)
        )

    def without_open_end(self) -> LogQuery:
        """Return the same query for logs that need not have the topics of open positions at the end."""
        if not self.topics or self.topics[-1]:
            return self
        named = max((at + 1 for at, wanted in enumerate(self.topics) if wanted), default=0)
        return LogQuery(addresses=self.addresses, topics=self.topics[:named])

    def criteria(self) -> list[list[bytes]]:
        """Return lists of index prefixes; a block must be under one prefix of every list."""
        found = [[ADDRESS_OF_LOG + address for address in sorted(self.addresses)]]
        for position, wanted in enumerate(self.topics):
            found.append([topic_of_log(position) + topic for topic in sorted(wanted)])
        constraints = [prefixes for prefixes in found if prefixes]
        return constraints or [[ANY_LOG]]


def index_keys(record: BlockRecord, block: int) -> Iterator[bytes]:
    """Yield the index keys of a block's logs, each once."""
    values = {
        value
        for result in record.results
        for address, topics, _ in result.logs
        for value in (
            ANY_LOG,
            ADDRESS_OF_LOG + address,
            *(topic_of_log(position) + topic for position, topic in enumerate(topics)),
        )
    }
    suffix = number(block)
    for value in sorted(values):
        yield LOGS + value + suffix


def candidates(
    db: KeyValueStore, query: LogQuery, first: int, last: int, *, newest_first: bool = False
) -> Iterator[int]:
    """Yield the blocks from `first` to `last` whose index entries satisfy every criterion.

    Every criterion skips to the furthest block that any of them has next, so the work depends on the
    rarest. Memory holds one number for each address and topic.
    """
    if len(query.topics) > MAX_TOPICS:
        return
    prefixes = query.criteria()
    if not newest_first and len(prefixes) == len(prefixes[0]) == 1:
        yield from _blocks_under(db, LOGS + prefixes[0][0], first, last)
        return
    # A backward search is the same with the order of blocks inverted.
    sign = -1 if newest_first else 1
    start, end = (last, first) if newest_first else (first, last)
    search = _backwards(db) if newest_first else _forwards(db)
    criteria = [_Criterion(search, it, start, sign) for it in prefixes]
    block: int | None = start
    while block is not None and block * sign <= end * sign:
        furthest = _furthest(criteria, block, sign)
        if furthest == block:
            yield block
            block += sign
        else:
            block = furthest


def _blocks_under(db: KeyValueStore, prefix: bytes, first: int, last: int) -> Iterator[int]:
    """Yield the blocks under one prefix. Nothing can skip any of them, so it reads ahead."""
    while first <= last:
        count = min(READ_AHEAD, last - first + 1)
        found = db.read(prefix + number(first), prefix, count)
        for key, _ in found:
            first = block_of(key) + 1
            if first > last + 1:
                return
            yield first - 1
        if len(found) < count:
            return


class _Criterion:
    """The next block under any of several prefixes, each of which is searched on demand."""

    def __init__(self, search: Search, prefixes: list[bytes], start: int, sign: int) -> None:
        self._search = search
        self._sign = sign
        found = ((search(prefix, start), prefix) for prefix in prefixes)
        self._heap = [
            (next_block * sign, prefix) for next_block, prefix in found if next_block is not None
        ]
        heapq.heapify(self._heap)

    def from_block(self, block: int) -> int | None:
        """Return the nearest block at or after `block`, in search order."""
        while self._heap and self._heap[0][0] < block * self._sign:
            prefix = self._heap[0][1]
            next_block = self._search(prefix, block)
            if next_block is None:
                heapq.heappop(self._heap)
            else:
                heapq.heapreplace(self._heap, (next_block * self._sign, prefix))
        return self._heap[0][0] * self._sign if self._heap else None


def _furthest(criteria: list[_Criterion], block: int, sign: int) -> int | None:
    """Return the first block that may satisfy all criteria, or None if one is exhausted."""
    for criterion in criteria:
        next_block = criterion.from_block(block)
        if next_block is None:
            return None
        block = max(block * sign, next_block * sign) * sign
    return block


def _forwards(db: KeyValueStore) -> Search:
    def search(prefix: bytes, block: int) -> int | None:
        found = db.first_at_least(LOGS + prefix + number(block), LOGS + prefix)
        return None if found is None else block_of(found[0])

    return search


def _backwards(db: KeyValueStore) -> Search:
    def search(prefix: bytes, block: int) -> int | None:
        found = db.last_at_most(LOGS + prefix + number(block), LOGS + prefix)
        return None if found is None else block_of(found[0])

    return search
