"""Rows that a fork stores beside its blocks: its anchor, whose storage it cleared, and codes that only the remote has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from entresol._native import keccak256
from entresol.errors import MalformedValue, StoreAnchorMismatch, StoreDamaged
from entresol.primitives.anchor import Anchor
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.storage import tables

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from entresol.primitives.records import BlockRecord
    from entresol.storage.database.key_value import KeyValueStore, Row


class RemoteCodes(Protocol):
    """Codes of the chain behind a fork, as far as they were read."""

    def code(self, code_hash: bytes, /) -> bytes | None:
        """Return the code with this hash, or None if it was not read."""


_NO_ROWS: Final[tuple[Row, ...]] = ()


class ForkTable:
    """The rows that only a fork has; without an anchor nothing is read or written here. Any thread may read."""

    def __init__(self, db: KeyValueStore, path: Path) -> None:
        self._db = db
        self._path = path
        self.remote: RemoteCodes | None = None
        """Where the codes of accounts are that blocks change, and whose code they do not; set by who opens the chain."""
        self.refresh()

    def refresh(self) -> None:
        """Read the anchor again, after the chain was created or replaced."""
        row = self._db.get(tables.ANCHOR)
        try:
            self.anchor = None if row is None else Anchor.decode(row)
            """The block that the chain stands on; None if it is not a fork."""
        except MalformedValue as error:
            raise StoreDamaged(self._path, f"its anchor: {error}") from error

    def check(self, expected: Anchor | None) -> None:
        """Raise `StoreAnchorMismatch` if the chain does not stand on this block."""
        found = self.anchor
        if found is None or expected is None:
            is_same = found is expected
        else:
            is_same = found.is_same(expected)
        if not is_same:
            raise StoreAnchorMismatch(self._path, found, expected)

    def is_cleared(self, address: bytes, number: int) -> bool:
        """Return whether a block up to `number` cleared the storage of an account, so that the remote's is gone."""
        prefix = tables.CLEARED + address
        return self._db.last_at_most(prefix + tables.number(number), prefix) is not None

    def code(self, code_hash: bytes) -> bytes | None:
        """Return a code that came from the remote with an account that a block has changed."""
        return None if self.anchor is None else self._db.get(tables.REMOTE_CODE + code_hash)

    def rows_of(self, record: BlockRecord, number: int) -> Iterator[Row] | tuple[Row, ...]:
        """Return the rows of a block."""
        return _NO_ROWS if self.anchor is None else self._rows_of(record, number)

    def keys_of(self, record: BlockRecord, number: int) -> list[bytes]:
        """Return the keys of the rows that a block shares with no other."""
        if self.anchor is None:
            return []
        return [tables.cleared_key(address, number) for address in _cleared_by(record)]

    def _rows_of(self, record: BlockRecord, number: int) -> Iterator[Row]:
        for address in _cleared_by(record):
            yield tables.cleared_key(address, number), b""
        yield from self._remote_codes(record)

    def _remote_codes(self, record: BlockRecord) -> Iterator[Row]:
        """Yield the codes of changed accounts that no block contains: with its account the remote is not asked again."""
        if self.remote is None:
            return
        used = {change.account.code_hash for change in record.changes if change.account is not None}
        used -= {EMPTY_CODE_HASH, *map(keccak256, record.codes)}
        for code_hash in used:
            if self._db.get(tables.CODE + code_hash) is None and self.code(code_hash) is None:
                code = self.remote.code(code_hash)
                if code is not None:
                    yield tables.REMOTE_CODE + code_hash, code


def anchor_rows(anchor: Anchor | None) -> list[Row]:
    """Return the rows of a new chain that stands on an anchor."""
    return [] if anchor is None else [(tables.ANCHOR, anchor.encode())]


def _cleared_by(record: BlockRecord) -> Iterator[bytes]:
    """Yield the accounts whose storage is gone after a block: those that are gone, or were replaced."""
    return (
        change.address for change in record.changes if change.destroyed or change.account is None
    )
