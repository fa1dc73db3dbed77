"""How far a store has applied the canonical log."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.storage import tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.storage.database.key_value import KeyValueStore

DIGEST_SIZE: Final = 32


class LogPosition(NamedTuple):
    """The last entry that was applied: its number in the log, and the digest of the log up to it."""

    seq: int
    digest: bytes


START: Final = LogPosition(0, bytes(DIGEST_SIZE))
"""Before the first entry."""


class PositionTable:
    """The position of a store in the canonical log, and what L1 had confirmed there.

    Remembers: the position. Persists: it, in the write of the entry that it follows.
    """

    def __init__(self, db: KeyValueStore) -> None:
        self._db = db
        self._position: LogPosition | None = None

    def get(self) -> LogPosition:
        """Return the position; `START` if nothing was applied."""
        if self._position is None:
            self._position = self._read()
        return self._position

    def _read(self) -> LogPosition:
        row = self._db.get(tables.POSITION)
        if row is None:
            return START
        size = tables.NUMBER_SIZE
        return LogPosition(int.from_bytes(row[:size]), row[size:])

    @contextlib.contextmanager
    def advancing(self, position: LogPosition) -> Iterator[None]:
        """Apply an entry: the one write within takes the position along, or it is written alone at the end."""
        row = (tables.POSITION, tables.number(position.seq) + position.digest)
        self._db.along = [row]
        try:
            yield
            if self._db.along:
                self._db.write([])
            self._position = position
        finally:
            self._db.along = []

    def confirmed(self) -> tuple[int, int] | None:
        """Return the last safe and the last finalized block; None if the log has none."""
        row = self._db.get(tables.CONFIRMED)
        if row is None:
            return None
        return int.from_bytes(row[: tables.NUMBER_SIZE]), int.from_bytes(row[tables.NUMBER_SIZE :])

    def set_confirmed(self, safe: int, finalized: int) -> None:
        """Persist the last safe and the last finalized block."""
        self._db.write([(tables.CONFIRMED, tables.number(safe) + tables.number(finalized))])
