"""Stored books: where L1 booked what a batch sends to other chains, or why it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.primitives.batches import SettlementTransaction
from entresol.primitives.values import Hash32
from entresol.storage import tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.storage.database.key_value import KeyValueStore, Row

MAX_PROBLEM: Final = 1_000
"""Characters that are kept of a problem."""

_PROBLEM: Final = b"\x00"
_BOOKED: Final = b"\x01"
_PARTIAL: Final = b"\x02"


class BookTable:
    """The books of batches, in any order: one that L1 rejects does not hold up those after it.

    Remembers: nothing. Persists: each call in one durable write. The table of batches deletes the books of its batches.
    Assumes: any thread may read.
    """

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
        self._db.write(rows, [it for it in self.keys_of(number) if it not in kept])

    def unbook(self, number: int, problem: str = "", *, is_partial: bool = False) -> None:
        """Record that L1 has not booked a batch, or not all of it, and why, if that is known."""
        row = (_PARTIAL if is_partial else _PROBLEM) + problem[:MAX_PROBLEM].encode()
        rows: list[Row] = [(_key(number), row)] if problem else []
        kept = {key for key, _ in rows}
        self._db.write(rows, [it for it in self.keys_of(number) if it not in kept])

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
