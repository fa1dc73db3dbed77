"""Where on L1 the batches of a chain are that is derived from there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import msgspec

from entresol.errors import MalformedValue
from entresol.primitives.values import Hash32
from entresol.storage import tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.storage.database.key_value import KeyValueStore, Row

_ROW_BYTES = 2 * tables.NUMBER_SIZE + Hash32.size + tables.INDEX_SIZE


class DerivedPosition(NamedTuple):
    """The log of L1 that committed a batch, and from which block on L1 has the deposits that follow it."""

    block: int
    block_hash: Hash32
    log_index: int
    deposits_from: int

    def pack(self) -> bytes:
        """Return it as a row has it."""
        return (
            tables.number(self.block)
            + self.block_hash
            + tables.pack_index(self.log_index)
            + tables.number(self.deposits_from)
        )

    @classmethod
    def unpack(cls, row: bytes) -> Self:
        """Read what `pack` writes."""
        if len(row) != _ROW_BYTES:
            raise MalformedValue(f"a position on L1 takes {_ROW_BYTES} bytes, got {len(row)}")
        block, block_hash, log_index, deposits = row[:8], row[8:40], row[40:44], row[44:]
        return cls(
            int.from_bytes(block),
            Hash32(block_hash),
            int.from_bytes(log_index),
            int.from_bytes(deposits),
        )


class AcceptedBatch(msgspec.Struct, frozen=True, array_like=True):
    """A batch that does not follow from its data, and was taken from a snapshot because L1 has executed it."""

    number: int
    first_block: int
    last_block: int
    alarm: str
    """How it differs from what its data gives."""
    snapshot: str
    """Where it was taken from."""

    def __str__(self) -> str:
        """Return what a reader of the chain has to know."""
        return (
            f"batch {self.number}, blocks {self.first_block} to {self.last_block}, was accepted from {self.snapshot}, "
            f"since L1 has executed it, and does not follow from its data ({self.alarm})"
        )


class DerivationTable:
    """The positions of derived batches, which were accepted instead, and whether the chain is still what was derived."""

    def __init__(self, db: KeyValueStore) -> None:
        self._db = db

    @property
    def is_open(self) -> bool:
        """Whether everything in the chain was derived, or is about to be: no node has continued it."""
        return self._db.get(tables.DERIVING) is not None

    def begin(self) -> None:
        """Note that the chain is derived, before it has a genesis."""
        count = tables.number(self.alarm_count or 0)
        self._db.write([(tables.DERIVING, b""), (tables.ALARM_COUNT, count)])

    def end(self) -> None:
        """Note that a node continues the chain, whose blocks L1 does not know."""
        if self.is_open:
            self._db.write([], [tables.DERIVING, tables.ALARM])

    @property
    def alarm(self) -> str | None:
        """How the batch after the last one differs from what L1 says of it; None if no derivation has ended there."""
        row = self._db.get(tables.ALARM)
        return None if row is None else row.decode()

    def set_alarm(self, alarm: str | None) -> None:
        """Note why a derivation has ended, and count it, or that it has not."""
        if alarm is not None:
            count = tables.number((self.alarm_count or 0) + 1)
            self._db.write([(tables.ALARM, alarm.encode()), (tables.ALARM_COUNT, count)])
        elif self.alarm is not None:
            self._db.write([], [tables.ALARM])

    @property
    def alarm_count(self) -> int | None:
        """How often a derivation has ended with an alarm; None if the chain was not derived."""
        row = self._db.get(tables.ALARM_COUNT)
        return None if row is None else int.from_bytes(row)

    @property
    def final_batch(self) -> int:
        """The last batch whose execution is final on L1; 0 if none is known."""
        row = self._db.get(tables.FINAL_BATCH)
        return 0 if row is None else int.from_bytes(row)

    def set_final_batch(self, number: int) -> None:
        """Note the last batch whose execution is final on L1."""
        if number > self.final_batch:
            self._db.write([(tables.FINAL_BATCH, tables.number(number))])

    def at(self, number: int) -> DerivedPosition | None:
        """Return where L1 has a batch; None if it was not derived."""
        row = self._db.get(tables.DERIVED_AT + tables.number(number))
        return None if row is None else DerivedPosition.unpack(row)

    def accepted(self) -> list[AcceptedBatch]:
        """Return the batches that were not derived, in order."""
        return [
            msgspec.msgpack.decode(row, type=AcceptedBatch)
            for _, row in self._db.scan(tables.ACCEPTED)
        ]

    def accepted_row(self, batch: AcceptedBatch) -> Row:
        """Return the row of a batch that is accepted."""
        return tables.ACCEPTED + tables.number(batch.number), msgspec.msgpack.encode(batch)

    def row_of(self, number: int, position: DerivedPosition) -> Row:
        """Return the row of a batch."""
        return tables.DERIVED_AT + tables.number(number), position.pack()

    def keys_of(self, number: int) -> Iterator[bytes]:
        """Yield the keys of a batch that is deleted."""
        for table in (tables.DERIVED_AT, tables.ACCEPTED):
            key = table + tables.number(number)
            if self._db.get(key) is not None:
                yield key
