"""Indexes that a store keeps beside its own tables: what one is, and how a database gets it and loses it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, Protocol

from entresol.storage import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from entresol.primitives.records import BlockRecord
    from entresol.storage.database.key_value import KeyValueStore, Row

log = logging.getLogger(__name__)

_BLOCKS_WITHOUT_WORD: Final = 10_000
"""As many are indexed at once, and nobody is told."""

_COMPLETE: Final = b"\x01"
_INCOMPLETE: Final = b"\x00"


class BlockIndex(Protocol):
    """Rows that a store writes with each block, and that can be built from the records at any time.

    An unwind deletes nothing: the rows of reverted blocks stay until blocks with the same numbers take their place. So
    a row has the number of its block, in its key or in its value, and reads leave out what is above the head.
    """

    @property
    def name(self) -> str:
        """The name by which the database knows it."""

    @property
    def tables(self) -> tuple[bytes, ...]:
        """The first byte of its keys, one for each table, which neither the store nor another index has."""

    def rows_of(self, db: KeyValueStore, record: BlockRecord, number: int) -> Iterable[Row]:
        """Return the rows of a block; the database has those of all blocks before it, and of reverted ones."""

    def keys_of(self, db: KeyValueStore, record: BlockRecord, number: int) -> Iterable[bytes]:
        """Return the keys that a reverted block has left; the block that takes its place deletes them."""


def is_complete(db: KeyValueStore, index: BlockIndex) -> bool:
    """Return whether a database has all blocks in an index."""
    return db.get(_key(index)) == _row(index, _COMPLETE)


def keep(
    db: KeyValueStore, indexes: Sequence[BlockIndex], records: Callable[[], Iterable[BlockRecord]]
) -> None:
    """Index these blocks, which are all, unless that was done, and drop all other indexes."""
    drop_others(db, indexes)
    for index in indexes:
        if not is_complete(db, index):
            _build(db, index, records())


def drop_others(db: KeyValueStore, indexes: Sequence[BlockIndex]) -> None:
    """Drop all but these indexes, and what was begun of these, and not completed."""
    kept = {_key(index): _row(index, _COMPLETE) for index in indexes}
    for key, row in list(db.scan(tables.INDEX)):
        if kept.get(key) == row:
            continue
        # First, since what is left of it after a crash is not complete.
        db.write([(key, _INCOMPLETE + row[1:])], sync=False, rewrites=False)
        for table in row[1:]:
            db.drop(bytes([table]))
        db.write((), [key], sync=False, rewrites=False)
        if key not in kept:
            name = key.removeprefix(tables.INDEX).decode()
            log.info("dropped the index of %s, which nothing here keeps", name)


def _build(db: KeyValueStore, index: BlockIndex, records: Iterable[BlockRecord]) -> None:
    """Write the rows of these blocks; a crash leaves an index that is dropped the next time."""
    db.write([(_key(index), _row(index, _INCOMPLETE))], sync=False, rewrites=False)
    done = 0
    for done, record in enumerate(records, 1):
        if done == _BLOCKS_WITHOUT_WORD:
            log.info("building the index of %s from all blocks", index.name)
        rows = list(index.rows_of(db, record, record.header().number))
        if rows:
            db.write(rows, sync=False, rewrites=False)
    db.write([(_key(index), _row(index, _COMPLETE))], sync=False, rewrites=False)
    if done >= _BLOCKS_WITHOUT_WORD:
        log.info("built the index of %s from %d blocks", index.name, done)


def _key(index: BlockIndex) -> bytes:
    return tables.INDEX + index.name.encode()


def _row(index: BlockIndex, state: bytes) -> bytes:
    return state + b"".join(index.tables)
