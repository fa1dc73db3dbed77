"""Blocks that were loaded from a state file: from which block on their states are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

import msgspec

from entresol.errors import MalformedValue
from entresol.storage import tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from entresol.storage.database.key_value import KeyValueStore, Row


class LoadedBlocks(msgspec.Struct, frozen=True, array_like=True):
    """The blocks of another node's file: the first whose state is known, and roots that are not those of headers."""

    first: int = 0
    roots: dict[bytes, bytes] = {}
    """The root of the state by the root that the header has."""
    last: int = 0
    """The last of the blocks, which were not executed here; 0 if there are none."""

    @classmethod
    def of(cls, rows: Mapping[bytes, bytes]) -> Self:
        """Read the row among others; without it everything is known."""
        row = rows.get(tables.LOADED)
        try:
            return cls() if row is None else msgspec.msgpack.decode(row, type=cls)
        except msgspec.DecodeError as error:
            raise MalformedValue(f"what is known of loaded blocks: {error}") from None

    def row(self) -> Row:
        """Return the row that `LoadedHistory` reads."""
        return tables.LOADED, _encoder.encode(self)


_encoder: Final = msgspec.msgpack.Encoder()

_KEPT_TABLES: Final = (
    tables.BATCH,
    tables.BATCH_LOGS,
    tables.BATCH_DATA,
    tables.BATCH_POSITION,
    tables.SETTLED,
    tables.BOOKS,
    tables.BOOKED_AT,
    tables.PRICES,
    tables.RULES,
    tables.ROOT,
    tables.BATCH_PATH,
    tables.PATHS,
    tables.REMOTE_CODE,
)
_TABLES_BY_BLOCK: Final = (tables.BATCH_POSITION, tables.PRICES, tables.RULES)
_KEPT_ROWS: Final = (tables.LOADED, tables.DEPOSITS, tables.ROOTS)


def is_kept_row(key: bytes) -> bool:
    """Return whether a row belongs to a dump beside the records: it does not follow from them."""
    return key[:1] in _KEPT_TABLES or key in _KEPT_ROWS


class LoadedHistory:
    """Reads what is known of loaded blocks; a chain that was not loaded has all of its states."""

    def __init__(self, db: KeyValueStore) -> None:
        self._db = db
        self.refresh()

    def refresh(self) -> None:
        """Read the row again, after the chain was replaced."""
        row = self._db.get(tables.LOADED)
        self._loaded = LoadedBlocks.of({} if row is None else {tables.LOADED: row})
        self.first = self._loaded.first
        """The number of the first block whose state is known."""
        self.roots: Mapping[bytes, bytes] = self._loaded.roots
        """The roots of states by the roots that headers have, where they differ."""

    def rows(self, head: int) -> Iterator[Row]:
        """Yield the rows that belong to a dump beside the records up to block `head`."""
        for table in _KEPT_TABLES:
            for key, row in self._db.scan(table):
                # A reverted block may have left some.
                if table not in _TABLES_BY_BLOCK or tables.block_of(key) <= head:
                    yield key, row
        for key in _KEPT_ROWS:
            found = self._db.get(key)
            if found is not None:
                yield key, found

    def write(self, rows: Iterable[Row]) -> None:
        """Write such rows."""
        self._db.write(rows)
        self.refresh()

    @property
    def last(self) -> int:
        """The number of the last block that was not executed here; 0 if there is none but the genesis."""
        return self._loaded.last
