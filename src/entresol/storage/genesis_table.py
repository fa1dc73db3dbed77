"""What identifies the genesis of a chain: rows of the table of metadata, written with block 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.storage import tables

if TYPE_CHECKING:
    from entresol.storage.key_value import KeyValueStore


class GenesisTable:
    """The hash of the genesis as it was given, and the chain id, which no block commits to."""

    def __init__(self, db: KeyValueStore) -> None:
        self._db = db

    @property
    def identity(self) -> bytes | None:
        """The hash that identifies the chain's genesis."""
        return self._db.get(tables.IDENTITY)

    @property
    def chain_id(self) -> int | None:
        """The chain id; None if an earlier version created the chain."""
        row = self._db.get(tables.CHAIN_ID)
        return None if row is None else int.from_bytes(row)

    @staticmethod
    def rows_of(identity: bytes, chain_id: int) -> list[tuple[bytes, bytes]]:
        """Return the rows of a new chain."""
        return [(tables.IDENTITY, identity), (tables.CHAIN_ID, tables.number(chain_id))]
