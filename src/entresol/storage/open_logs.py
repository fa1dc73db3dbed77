"""L2-to-L1 logs that layer 1 has not done with: which ones there are, without reading blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.primitives.l2_to_l1_logs import (
    BOOTLOADER,
    FAILED,
    L1_MESSENGER,
    PACKED_SIZE,
    L2ToL1Log,
)
from entresol.primitives.values import Hash32
from entresol.storage import tables
from entresol.storage.log_index import LogQuery, candidates

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.primitives.records import BlockRecord
    from entresol.storage.database.key_value import KeyValueStore, Row

_KEY: Final = slice(1, None)
_HASH_SIZE: Final = 32
_STATUS_OF_FAILED: Final = (bytes(BOOTLOADER), bytes(FAILED))
_BLOCKS_PER_WRITE: Final = 1_000


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
    """The open logs of a chain, in the order of its blocks.

    `block_rows` writes a log with its block. `close` moves it to another table, under the L1 block that was read, so
    that `reopen` can move it back when a reorg or a revert removes that block. Remembers: nothing. Persists: each call
    in one write. Assumes: the thread that changes the chain.
    """

    def __init__(self, db: KeyValueStore) -> None:
        self._db = db

    def read(self, after: bytes, count: int) -> list[OpenLog]:
        """Return some logs after a place in the order of all; blocks above the head are reverted ones."""
        # The end of a key is greater than any that follows it immediately.
        start = tables.OPEN_LOGS + after + b"\0" if after else tables.OPEN_LOGS
        found = self._db.read(start, tables.OPEN_LOGS, count)
        return [OpenLog.of(key[_KEY], value) for key, value in found]

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

    def index(self, read: Callable[[int], BlockRecord | None], last: int) -> None:
        """Add the logs of all blocks, once for a chain that a version without this table has begun."""
        if self._db.get(tables.LOGS_INDEXED) is not None:
            return
        blocks = sorted({*self._blocks_with_messages(last), *self._blocks_with_deposits(last)})
        for at in range(0, len(blocks), _BLOCKS_PER_WRITE):
            rows = []
            for number in blocks[at : at + _BLOCKS_PER_WRITE]:
                record = read(number)
                rows += [] if record is None else open_rows(record, number)
            self._db.write(rows, sync=False, rewrites=False)
        self._db.write([indexed_row()])

    def _blocks_with_messages(self, last: int) -> Iterator[int]:
        query = LogQuery(addresses=frozenset({bytes(L1_MESSENGER)}))
        return candidates(self._db, query, 0, last)

    def _blocks_with_deposits(self, last: int) -> Iterator[int]:
        numbers = (tables.block_of(key) for key, _ in self._db.scan(tables.PRIORITY))
        return (number for number in numbers if number <= last)


def indexed_row() -> Row:
    """Return the row that says that all blocks of a chain are indexed."""
    return tables.LOGS_INDEXED, b""


def _l1_block_of(key: bytes) -> int:
    return int.from_bytes(key[1 : 1 + tables.NUMBER_SIZE])
