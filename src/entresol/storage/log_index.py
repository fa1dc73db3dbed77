"""Indexes of logs: the blocks that may contain those of a filter, and those that another layer still has to act on."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from entresol.primitives.l2_to_l1_logs import (
    BOOTLOADER,
    FAILED,
    L1_MESSENGER,
    PACKED_SIZE,
    L2ToL1Log,
)
from entresol.primitives.receipts import MAX_TOPICS
from entresol.primitives.values import Hash32
from entresol.storage import tables

if TYPE_CHECKING:
    from entresol.primitives.records import BlockRecord
    from entresol.storage.database.key_value import KeyValueStore, Row


READ_AHEAD: Final = 64
"""Entries that a search reads at once."""

Search: TypeAlias = Callable[[bytes, int], int | None]


_OPEN_LOG_KEY: Final = slice(1, None)

_HASH_SIZE: Final = 32

_STATUS_OF_FAILED: Final = (bytes(BOOTLOADER), bytes(FAILED))


class LogQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A log filter: one of the addresses, and at each position one of the topics; an empty set matches anything."""

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
        found = [[tables.ADDRESS_OF_LOG + address for address in sorted(self.addresses)]]
        for position, wanted in enumerate(self.topics):
            found.append([tables.topic_of_log(position) + topic for topic in sorted(wanted)])
        constraints = [prefixes for prefixes in found if prefixes]
        return constraints or [[tables.ANY_LOG]]


def index_keys(record: BlockRecord, block: int) -> Iterator[bytes]:
    """Yield the index keys of a block's logs, each once."""
    values = {
        value
        for result in record.results
        for address, topics, _ in result.logs
        for value in (
            tables.ANY_LOG,
            tables.ADDRESS_OF_LOG + address,
            *(tables.topic_of_log(position) + topic for position, topic in enumerate(topics)),
        )
    }
    suffix = tables.number(block)
    for value in sorted(values):
        yield tables.LOGS + value + suffix


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
        yield from _blocks_under(db, tables.LOGS + prefixes[0][0], first, last)
        return
    # A backward search is the same with the order of blocks inverted.
    sign = -1 if newest_first else 1
    start, end = (last, first) if newest_first else (first, last)
    search = _backwards(db) if newest_first else _forwards(db)
    criteria = [_Criterion(search, prefix, start, sign) for prefix in prefixes]
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
        found = db.read(prefix + tables.number(first), prefix, count)
        for key, _ in found:
            first = tables.block_of(key) + 1
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
        found = db.first_at_least(tables.LOGS + prefix + tables.number(block), tables.LOGS + prefix)
        return None if found is None else tables.block_of(found[0])

    return search


def _backwards(db: KeyValueStore) -> Search:
    def search(prefix: bytes, block: int) -> int | None:
        found = db.last_at_most(tables.LOGS + prefix + tables.number(block), tables.LOGS + prefix)
        return None if found is None else tables.block_of(found[0])

    return search


class OpenLog(msgspec.Struct, frozen=True):
    """A message, or the status of a failed deposit: a log that something may still be done with on L1."""

    block: int
    position: int
    """How many L2-to-L1 logs of the block precede it."""
    transaction: Hash32
    index: int
    """How many L2-to-L1 logs of the transaction precede it."""
    packed: bytes

    @property
    def key(self) -> bytes:
        """Its place in the order of all logs."""
        return tables.number(self.block) + tables.pack_index(self.position)

    @property
    def log(self) -> L2ToL1Log:
        """The log itself."""
        return L2ToL1Log.unpack(self.packed)

    def row(self) -> Row:
        """Return the row of an open log."""
        value = self.transaction + tables.pack_index(self.index) + self.packed
        return tables.OPEN_LOGS + self.key, value

    @classmethod
    def of(cls, key: bytes, value: bytes) -> OpenLog:
        """Read what `row` returns, without the byte of the table."""
        block, position = key[: tables.NUMBER_SIZE], key[tables.NUMBER_SIZE :]
        end = _HASH_SIZE + tables.INDEX_SIZE
        return cls(
            int.from_bytes(block),
            int.from_bytes(position),
            Hash32(value[:_HASH_SIZE]),
            int.from_bytes(value[_HASH_SIZE:end]),
            value[end : end + PACKED_SIZE],
        )


def open_rows(record: BlockRecord, number: int) -> list[Row]:
    """Return a row for each log of a block that is open when the block is sealed."""
    rows: list[Row] = []
    position = 0
    for at, result in enumerate(record.results):
        if not result.l2_to_l1_logs:
            continue
        transaction = record.transaction_hash(at)
        for index, packed in enumerate(result.l2_to_l1_logs):
            if _is_open(packed):
                rows.append(OpenLog(number, position + index, transaction, index, packed).row())
        position += len(result.l2_to_l1_logs)
    return rows


def _is_open(packed: bytes) -> bool:
    """Return whether a log is a message, or says that a deposit has failed."""
    sender = packed[4:24]
    return sender == L1_MESSENGER or (sender, packed[56:]) == _STATUS_OF_FAILED


class OpenLogTable:
    """The open logs of a chain, in the order of its blocks, which `block_rows` writes.

    `close` moves a log to another table, under the L1 block that was read, so that `reopen` can move it back when a
    reorg or a revert removes that block.
    """

    def __init__(self, db: KeyValueStore) -> None:
        self._db = db

    def read(self, after: bytes, count: int) -> list[OpenLog]:
        """Return some logs after a place in the order of all; blocks above the head are reverted ones."""
        # The end of a key is greater than any that follows it immediately.
        start = tables.OPEN_LOGS + after + b"\0" if after else tables.OPEN_LOGS
        found = self._db.read(start, tables.OPEN_LOGS, count)
        return [OpenLog.of(key[_OPEN_LOG_KEY], value) for key, value in found]

    def close(self, logs: Iterable[tuple[OpenLog, Hash32]], l1_block: int, l1_hash: Hash32) -> None:
        """Close logs, each given with the hash of its block, as of a block of L1."""
        closed = list(logs)
        rows = [
            (
                tables.CLOSED_LOGS + tables.number(l1_block) + log.key,
                l1_hash + block_hash + log.row()[1],
            )
            for log, block_hash in closed
        ]
        # A power cut that undoes it costs asking L1 once more.
        deleted = [log.row()[0] for log, _ in closed]
        self._db.write(rows, deleted, sync=False, rewrites=False)

    def last_closed(self) -> tuple[int, Hash32] | None:
        """Return the last L1 block as of which logs were closed."""
        found = self._db.last_at_most(
            tables.CLOSED_LOGS + tables.LAST_NUMBER * 2, tables.CLOSED_LOGS
        )
        if found is None:
            return None
        return _l1_block_of(found[0]), Hash32(found[1][:_HASH_SIZE])

    def reopen(self, l1_block: int, block_hash: Callable[[int], Hash32 | None]) -> None:
        """Open what was closed as of a block of L1 again, if its own block is still there."""
        prefix = tables.CLOSED_LOGS + tables.number(l1_block)
        found = list(self._db.scan(prefix))
        rows = []
        for key, value in found:
            log = OpenLog.of(key[len(prefix) :], value[2 * _HASH_SIZE :])
            if block_hash(log.block) == value[_HASH_SIZE : 2 * _HASH_SIZE]:
                rows.append(log.row())
        self._db.write(rows, [key for key, _ in found], sync=False, rewrites=False)


def _l1_block_of(key: bytes) -> int:
    return int.from_bytes(key[1 : 1 + tables.NUMBER_SIZE])
