"""Stored batches: their blocks, their L2-to-L1 logs, their settlement on L1, and the books there of what they send."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.cache_limits import CACHES
from entresol.primitives.batches import Batch, SettlementStep, SettlementTransaction
from entresol.primitives.values import Hash32
from entresol.storage import tables
from entresol.storage.derivation_table import DerivationTable
from entresol.storage.root_table import RootTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.storage.database.key_value import KeyValueStore, Row
    from entresol.storage.derivation_table import AcceptedBatch, DerivedPosition
    from entresol.storage.root_table import RootCursor


class BatchPosition(NamedTuple):
    """A block's batch, and how many logs of the batch precede those of the block."""

    batch: int
    logs_before: int


_SETTLED_BYTES: Final = 32 + 8 + 8
"""The row of a step without its gas: transaction, block and time."""


class BatchMark(NamedTuple):
    """The batches that are sealed, and how far each step of their settlement is: what a revert restores."""

    last: int
    """The last batch; -1 if there is none."""
    settled: tuple[int, ...]
    """The last batch for which each step is done."""
    pending: tuple[bytes | None, ...]
    """The encoded transaction of each step that is pending."""
    booked_block: int = 0
    """The last L1 block that booked a batch."""
    roots: RootCursor | None = None
    """How far the roots of L1 were read."""


class DepositCursor(NamedTuple):
    """The L1 block up to which all deposits are in sealed blocks, and the id of the next deposit."""

    block: int
    block_hash: Hash32
    next_id: int


class BatchTable:
    """The batches of a chain, each call in one durable write; the store deletes them with their blocks, then calls `refresh`."""

    def __init__(self, db: KeyValueStore) -> None:
        self._db = db
        self.books = BookTable(db)
        self.roots = RootTable(db)
        """The roots over all chains that lead to other L2s."""
        self.derivation = DerivationTable(db)
        """Where the batches of a chain that is derived from L1 come from."""
        self._last: Batch | None = None
        self._is_last_known = False
        # Each version has a map of its own, so that a thread never adds what it read before to what is read after.
        self._read: tuple[int, dict[int, Batch]] = (-1, {})

    def refresh(self) -> None:
        """Read the last batch again when it is needed, because rows were deleted or written elsewhere."""
        self._is_last_known = False

    @property
    def version(self) -> int:
        """A number that is another one once batches or their settlement may have changed."""
        return self._db.rewrites

    # Batches

    def last(self) -> Batch | None:
        """Return the last sealed batch."""
        if not self._is_last_known:
            found = self._db.last_at_most(tables.BATCH + tables.LAST_NUMBER, tables.BATCH)
            self._last = None if found is None else Batch.decode(found[1])
            self._is_last_known = True
        return self._last

    def get(self, number: int) -> Batch | None:
        """Return a batch."""
        version, known = self._read
        if version != self._db.rewrites or len(known) >= CACHES.batches:
            known = {}
            self._read = self._db.rewrites, known
        batch = known.get(number)
        if batch is None:
            row = self._db.get(tables.BATCH + tables.number(number))
            if row is None:
                return None
            batch = known[int(number)] = Batch.decode(row)
        return batch

    def logs(self, number: int) -> bytes:
        """Return the packed L2-to-L1 logs of a batch, concatenated."""
        return self._db.get(tables.BATCH_LOGS + tables.number(number)) or b""

    def position_of_block(self, block: int) -> BatchPosition | None:
        """Return the position of a block in its batch, or None if the batch is not sealed."""
        row = self._db.get(tables.BATCH_POSITION + tables.number(block))
        if row is None:
            return None
        position = BatchPosition(int.from_bytes(row[:8]), int.from_bytes(row[8:]))
        batch = self.get(position.batch)
        # A reverted block may have left it.
        return position if batch is not None and block <= batch.last_block else None

    def data(self, number: int) -> bytes:
        """Return what a batch publishes, byte for byte; empty if that is nothing."""
        return self._db.get(tables.BATCH_DATA + tables.number(number)) or b""

    def append(
        self, batch: Batch, logs: bytes, logs_before: Iterable[int], data: bytes = b""
    ) -> None:
        """Add a batch with how many logs precede those of each block, and what it publishes: no compressor gives that again."""
        self._write(_rows_of(batch, logs, logs_before, data))

    def append_derived(
        self,
        sealed: tuple[Batch, bytes, Iterable[int], bytes],
        position: DerivedPosition,
        commit: SettlementTransaction,
        accepted: AcceptedBatch | None = None,
    ) -> None:
        """Add what `append` does of a derived batch, its place on L1 and its commit; `accepted` if it is from a snapshot."""
        number = sealed[0].number
        rows = _rows_of(*sealed)
        rows.append(self.derivation.row_of(number, position))
        if accepted is not None:
            rows.append(self.derivation.accepted_row(accepted))
        self._write(rows + _settled_rows([number], SettlementStep.COMMIT, commit))

    def _write(self, rows: list[Row]) -> None:
        self._db.write(rows)
        self.refresh()

    def keys_above(self, block: int) -> Iterator[bytes]:
        """Yield the keys of the batches that have a block above this one, and the positions of the blocks that stay.

        The pending settlement transactions are among them: they may be for such a batch, and must not be
        sent again. The position of a reverted block is deleted when another gets its number.
        """
        batch = self.last()
        if batch is not None and batch.last_block > block:
            yield from map(_pending_key, SettlementStep)
        while batch is not None and batch.last_block > block:
            yield from self._keys_of(batch, min(batch.last_block, block))
            batch = self.get(batch.number - 1) if batch.number else None

    # Reverts of both layers

    def mark(self) -> BatchMark:
        """Return what `revert_to` needs to restore the batches of now."""
        last = self.last()
        return BatchMark(
            -1 if last is None else last.number,
            tuple(map(self.last_settled, SettlementStep)),
            tuple(map(self.pending_settlement, SettlementStep)),
            self.books.last_block,
            self.roots.cursor(),
        )

    def revert_to(self, mark: BatchMark) -> None:
        """Restore the batches and their settlement, in one write, after L1 was reverted to the same moment."""
        if self.mark() == mark:
            return
        deleted = [
            _settled_key(number, step)
            for step, first in zip(SettlementStep, mark.settled, strict=True)
            for number in range(first + 1, self.last_settled(step) + 1)
        ]
        deleted += self.books.keys_above(mark.booked_block)
        batch = self.last()
        while batch is not None and batch.number > mark.last:
            deleted += self._keys_of(batch, batch.last_block)
            batch = self.get(batch.number - 1) if batch.number else None
        rows = []
        for step, transaction in zip(SettlementStep, mark.pending, strict=True):
            if transaction is None:
                deleted.append(_pending_key(step))
            else:
                rows.append((_pending_key(step), transaction))
        cursor, paths = self.roots.restored(mark.roots)
        self._db.write([*rows, *cursor], [*deleted, *paths])
        self.refresh()

    # Settlement

    def settled(self, number: int, step: SettlementStep) -> SettlementTransaction | None:
        """Return the L1 transaction that did a step of a batch, or None."""
        row = self._db.get(_settled_key(number, step))
        if row is None:
            return None
        block, timestamp = int.from_bytes(row[32:40]), int.from_bytes(row[40:48])
        gas_used = int.from_bytes(row[48:]) if len(row) > _SETTLED_BYTES else None
        return SettlementTransaction(Hash32(row[:32]), block, timestamp, gas_used)

    def last_settled(self, step: SettlementStep) -> int:
        """Return the last batch for which a step is done, 0 without any, by a binary search: steps follow the order of batches."""
        last = self.last()
        numbers = range(1, 1 + (0 if last is None else last.number))
        return bisect_left(numbers, 1, key=lambda number: self.settled(number, step) is None)

    def last_settled_block(self, step: SettlementStep) -> int:
        """Return the last block of the last batch for which a step is done; 0 if there is no batch."""
        batch = self.get(self.last_settled(step))
        return 0 if batch is None else batch.last_block

    def settle(
        self, numbers: Iterable[int], step: SettlementStep, by: SettlementTransaction
    ) -> None:
        """Record the L1 transaction of a step of some batches, and clear the pending one of the step."""
        self._db.write(_settled_rows(numbers, step, by), [_pending_key(step)])

    def update_settlement(
        self, numbers: Iterable[int], step: SettlementStep, by: SettlementTransaction
    ) -> None:
        """Record another L1 transaction for a step of some batches; the pending one stays."""
        self._db.write(_settled_rows(numbers, step, by))

    def revert_settlement(self, numbers: Iterable[int], step: SettlementStep) -> None:
        """Remove the record of a step of some batches, after a reorg of L1."""
        self._db.write([], [_settled_key(number, step) for number in numbers])

    def revert_settlement_above(self, block: int) -> None:
        """Remove the records of all steps that L1 took above a block, in one write, after it was reverted to that."""
        deleted = list(self.books.keys_above(block))
        for step in SettlementStep:
            number = self.last_settled(step)
            while (by := self.settled(number, step)) is not None and by.block > block:
                deleted.append(_settled_key(number, step))
                number -= 1
        if deleted:
            self._db.write([], deleted)

    def pending_settlement(self, step: SettlementStep) -> bytes | None:
        """Return the encoded transaction of a step that is pending, if there is one."""
        return self._db.get(_pending_key(step))

    def set_pending_settlement(self, step: SettlementStep, transaction: bytes | None) -> None:
        """Persist the transaction of a step that is pending, or clear it."""
        if transaction is None:
            self._db.write([], [_pending_key(step)])
        else:
            self._db.write([(_pending_key(step), transaction)])

    # Deposits

    def deposit_cursor(self) -> DepositCursor | None:
        """Return the L1 block up to which all deposits are in sealed blocks."""
        row = self._db.get(tables.DEPOSITS)
        if row is None:
            return None
        return DepositCursor(int.from_bytes(row[:8]), Hash32(row[8:40]), int.from_bytes(row[40:]))

    def set_deposit_cursor(self, cursor: DepositCursor) -> None:
        """Persist the L1 block up to which all deposits are in sealed blocks."""
        row = tables.number(cursor.block) + cursor.block_hash + tables.number(cursor.next_id)
        # Losing it costs reading the same deposits again, so it is not synced.
        self._db.write([(tables.DEPOSITS, row)], sync=False, rewrites=False)

    def _keys_of(self, batch: Batch, last_block: int) -> Iterator[bytes]:
        """Yield the keys of a batch, and the positions of its blocks up to `last_block`."""
        key = tables.number(batch.number)
        yield tables.BATCH + key
        yield tables.BATCH_LOGS + key
        if batch.data_size:
            yield tables.BATCH_DATA + key
            yield from self.derivation.keys_of(batch.number)
        for number in range(batch.first_block, last_block + 1):
            yield tables.BATCH_POSITION + tables.number(number)
        for step in SettlementStep:
            yield _settled_key(batch.number, step)
        yield from self.books.keys_of(batch.number)
        yield from self.roots.keys_of(batch.number)


def _rows_of(batch: Batch, logs: bytes, logs_before: Iterable[int], data: bytes) -> list[Row]:
    key = tables.number(batch.number)
    rows = [(tables.BATCH + key, batch.encode())]
    if logs:
        rows.append((tables.BATCH_LOGS + key, logs))
    if data:
        rows.append((tables.BATCH_DATA + key, data))
    for block, before in enumerate(logs_before, start=batch.first_block):
        position = key + tables.pack_index(before)
        rows.append((tables.BATCH_POSITION + tables.number(block), position))
    return rows


def _settled_rows(
    numbers: Iterable[int], step: SettlementStep, by: SettlementTransaction
) -> list[Row]:
    row = by.transaction + tables.number(by.block) + tables.number(by.timestamp)
    if by.gas_used is not None:
        row += tables.number(by.gas_used)
    return [(_settled_key(number, step), row) for number in numbers]


def _pending_key(step: SettlementStep) -> bytes:
    return tables.PENDING_SETTLEMENT + bytes([step])


def _settled_key(number: int, step: SettlementStep) -> bytes:
    return tables.SETTLED + tables.number(number) + bytes([step])


MAX_PROBLEM: Final = 1_000
"""Characters that are kept of a problem."""

_PROBLEM: Final = b"\x00"
_BOOKED: Final = b"\x01"
_PARTIAL: Final = b"\x02"


class BookTable:
    """The books of batches, in any order: one that L1 rejects does not hold up those after it."""

    def __init__(self, db: KeyValueStore) -> None:
        self._db = db

    def get(self, number: int) -> SettlementTransaction | None:
        """Return the L1 transaction that booked a batch, or None."""
        row = self._db.get(_key(number))
        if row is None or row[:1] != _BOOKED:
            return None
        numbers = (int.from_bytes(part) for part in (row[33:41], row[41:]))
        return SettlementTransaction(Hash32(row[1:33]), *numbers)

    def problem_of(self, number: int) -> str | None:
        """Return why L1 does not book a batch, or some of its bundles; None if it has, or was not asked."""
        row = self._db.get(_key(number))
        return None if row is None or row[:1] == _BOOKED else row[1:].decode()

    def is_partial(self, number: int) -> bool:
        """Return whether L1 has booked a batch without some of its bundles."""
        row = self._db.get(_key(number))
        return row is not None and row[:1] == _PARTIAL

    def book(self, number: int, by: SettlementTransaction) -> None:
        """Record the L1 transaction that booked a batch."""
        row = _BOOKED + by.transaction + tables.number(by.block) + tables.number(by.timestamp)
        rows: list[Row] = [(_key(number), row), (_index_key(by.block, number), b"")]
        kept = {key for key, _ in rows}
        self._db.write(rows, [key for key in self.keys_of(number) if key not in kept])

    def unbook(self, number: int, problem: str = "", *, is_partial: bool = False) -> None:
        """Record that L1 has not booked a batch, or not all of it, and why, if that is known."""
        row = (_PARTIAL if is_partial else _PROBLEM) + problem[:MAX_PROBLEM].encode()
        rows: list[Row] = [(_key(number), row)] if problem else []
        kept = {key for key, _ in rows}
        self._db.write(rows, [key for key in self.keys_of(number) if key not in kept])

    def above(self, block: int) -> list[int]:
        """Return the batches that were booked in an L1 block above this one, the last first."""
        return [number for _, number in self._index_above(block)]

    @property
    def last_block(self) -> int:
        """The last L1 block that booked a batch; 0 if there is none."""
        return next((block for block, _ in self._index_above(0)), 0)

    def keys_of(self, number: int) -> Iterator[bytes]:
        """Yield the keys of the books of a batch."""
        yield _key(number)
        booked = self.get(number)
        if booked is not None:
            yield _index_key(booked.block, number)

    def keys_above(self, block: int) -> Iterator[bytes]:
        """Yield the keys of the books that were booked in an L1 block above this one."""
        for number in self.above(block):
            yield from self.keys_of(number)

    def _index_above(self, block: int) -> Iterator[tuple[int, int]]:
        """Yield the L1 block and the batch of what was booked above a block, the last first."""
        last = tables.BOOKED_AT + 2 * tables.LAST_NUMBER
        while (found := self._db.last_at_most(last, tables.BOOKED_AT)) is not None:
            key, _ = found
            at, number = int.from_bytes(key[1:9]), int.from_bytes(key[9:])
            if at <= block:
                return
            yield at, number
            last = _before(key)


def _key(number: int) -> bytes:
    return tables.BOOKS + tables.number(number)


def _index_key(block: int, number: int) -> bytes:
    return tables.BOOKED_AT + tables.number(block) + tables.number(number)


def _before(key: bytes) -> bytes:
    """Return the last key of the same length before this one."""
    return key[:1] + (int.from_bytes(key[1:]) - 1).to_bytes(len(key) - 1)
