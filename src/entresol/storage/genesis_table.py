"""What identifies the genesis of a chain: rows of the table of metadata, written with the genesis block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.storage import tables

if TYPE_CHECKING:
    from entresol.storage.database.key_value import KeyValueStore, Row


class GenesisTable:
    """The hash of the genesis as it was given, its block number, and the chain id, which no block commits to.

    Remembers: the block number. Persists: nothing; the store writes the rows with the genesis block.
    """

    def __init__(self, db: KeyValueStore) -> None:
        self._db = db
        self.refresh()

    def refresh(self) -> None:
        """Read the block number again, after the chain was created or replaced."""
        row = self._db.get(tables.FIRST)
        self.number = 0 if row is None else int.from_bytes(row)
        """The number of the genesis block: 0 unless the chain was started with another one."""

    @property
    def identity(self) -> bytes | None:
        """The hash that identifies the chain's genesis."""
        return self._db.get(tables.IDENTITY)

    @property
    def chain_id(self) -> int:
        """The chain id."""
        return int.from_bytes(self._db.get(tables.CHAIN_ID) or b"")

    @staticmethod
    def rows_of(identity: bytes, chain_id: int, number: int) -> list[Row]:
        """Return the rows of a new chain whose genesis has this block number."""
        rows = [(tables.IDENTITY, identity), (tables.CHAIN_ID, tables.number(chain_id))]
        return [*rows, (tables.FIRST, tables.number(number))] if number else rows
