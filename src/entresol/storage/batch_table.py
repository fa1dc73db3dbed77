"""Batches on disk: which blocks settle together, what they tell L1, and how far L1 has them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from entresol.primitives.batches import Batch, SettlementStep, SettlementTransaction
from entresol.primitives.values import Hash32
from entresol.storage import tables

if TYPE_CHECKING:
    from entresol.storage.key_value import KeyValueStore


class BatchPosition(NamedTuple):
    """Where a block stands in its batch."""

    batch: int
    transactions_before: int
    logs_before: int


class DepositCursor(NamedTuple):
    """The L1 block up to which all deposits are in sealed blocks, and the number of the next one."""

    block: int
    block_hash: Hash32
    next_id: int


class BatchTable:
    """The batches of a chain, beside its blocks.

    Persists: what it is given, each call in one durable write. Batches whose blocks are forgotten are
    forgotten with them, by the store.
    """

    def __init__(self, engine: KeyValueStore) -> None:
        self._engine = engine

    # Batches

    def last(self) -> Batch | None:
        """Return the batch that was sealed last."""
        found = self._engine.last_at_most(tables.BATCH + tables.LAST_NUMBER, tables.BATCH)
        return None if found is None else Batch.decode(found[1])

    def get(self, number: int) -> Batch | None:
        """Return a batch."""
        row = self._engine.get(tables.BATCH + tables.number(number))
        return None if row is None else Batch.decode(row)

    def logs(self, number: int) -> bytes:
        """Return the packed L2-to-L1 logs of a batch, one after the other."""
        return self._engine.get(tables.BATCH_LOGS + tables.number(number)) or b""

    def position_of_block(self, block: int) -> BatchPosition | None:
        """Return where a block stands, or None if its batch is not sealed."""
        row = self._engine.get(tables.PLACE_OF_BLOCK + tables.number(block))
        if row is None:
            return None
        return BatchPosition(*(int.from_bytes(part) for part in (row[:8], row[8:12], row[12:])))

    def append(self, batch: Batch, logs: bytes, places: Iterable[tuple[int, int]]) -> None:
        """Add a sealed batch; `places` are the transactions and logs before each of its blocks."""
        key = tables.number(batch.number)
        rows = [(tables.BATCH + key, batch.encode())]
        if logs:
            rows.append((tables.BATCH_LOGS + key, logs))
        for block, (transactions, before) in enumerate(places, start=batch.first_block):
            place = key + tables.pack_index(transactions) + tables.pack_index(before)
            rows.append((tables.PLACE_OF_BLOCK + tables.number(block), place))
        self._engine.write(rows)

    def keys_above(self, block: int) -> Iterator[bytes]:
        """Yield every key of the batches that have a block above this one.

        What was under way may have been for one of them, and must not be sent again.
        """
        batch = self.last()
        if batch is not None and batch.last_block > block:
            yield tables.PENDING_SETTLEMENT
        while batch is not None and batch.last_block > block:
            key = tables.number(batch.number)
            yield tables.BATCH + key
            yield tables.BATCH_LOGS + key
            for place in range(batch.first_block, batch.last_block + 1):
                yield tables.PLACE_OF_BLOCK + tables.number(place)
            for step in SettlementStep:
                yield _settled_key(batch.number, step)
            batch = self.get(batch.number - 1) if batch.number else None

    # Settlement

    def settled(self, number: int, step: SettlementStep) -> SettlementTransaction | None:
        """Return how a step of a batch was done on L1, if it was."""
        row = self._engine.get(_settled_key(number, step))
        if row is None:
            return None
        numbers = (int.from_bytes(part) for part in (row[32:40], row[40:]))
        return SettlementTransaction(Hash32(row[:32]), *numbers)

    def last_settled(self, step: SettlementStep) -> int:
        """Return the last batch that has a step done; 0 if none has.

        Steps are done in the order of batches, so a few rows tell, however many batches wait.
        """
        last = self.last()
        numbers = range(1, 1 + (0 if last is None else last.number))
        return bisect_left(numbers, 1, key=lambda number: self.settled(number, step) is None)

    def settle(
        self, numbers: Iterable[int], step: SettlementStep, by: SettlementTransaction
    ) -> None:
        """Record the L1 transaction of a step of some batches, and clear the pending one."""
        self._engine.write(_settled_rows(numbers, step, by), [tables.PENDING_SETTLEMENT])

    def update_settlement(
        self, number: int, step: SettlementStep, by: SettlementTransaction
    ) -> None:
        """Record another L1 transaction for a step of a batch; the pending one stays."""
        self._engine.write(_settled_rows([number], step, by))

    def revert_settlement(self, numbers: Iterable[int], step: SettlementStep) -> None:
        """Remove the record of a step of some batches, after a reorg of L1."""
        self._engine.write([], [_settled_key(number, step) for number in numbers])

    def pending_settlement(self) -> bytes | None:
        """Return the encoded settlement transaction that is pending, if there is one."""
        return self._engine.get(tables.PENDING_SETTLEMENT)

    def set_pending_settlement(self, transaction: bytes | None) -> None:
        """Persist the settlement transaction that is pending, or clear it."""
        if transaction is None:
            self._engine.write([], [tables.PENDING_SETTLEMENT])
        else:
            self._engine.write([(tables.PENDING_SETTLEMENT, transaction)])

    # Deposits

    def deposit_cursor(self) -> DepositCursor | None:
        """Return the L1 block up to which all deposits are in sealed blocks."""
        row = self._engine.get(tables.DEPOSITS)
        if row is None:
            return None
        return DepositCursor(int.from_bytes(row[:8]), Hash32(row[8:40]), int.from_bytes(row[40:]))

    def set_deposit_cursor(self, read: DepositCursor) -> None:
        """Persist the L1 block up to which all deposits are in sealed blocks."""
        row = tables.number(read.block) + read.block_hash + tables.number(read.next_id)
        # Who loses it reads the same deposits again, so nobody waits for the disk.
        self._engine.write([(tables.DEPOSITS, row)], wait=False)


def _settled_rows(
    numbers: Iterable[int], step: SettlementStep, by: SettlementTransaction
) -> list[tuple[bytes, bytes]]:
    row = by.transaction + tables.number(by.block) + tables.number(by.timestamp)
    return [(_settled_key(number, step), row) for number in numbers]


def _settled_key(number: int, step: SettlementStep) -> bytes:
    return tables.SETTLED + tables.number(number) + bytes([step])
