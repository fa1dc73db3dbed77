"""The store of a chain that another process of this machine writes, to read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from entresol.storage.database.directory import DATABASE, Directory
from entresol.storage.database.key_value import KeyValueStore
from entresol.storage.store import Store

if TYPE_CHECKING:
    from pathlib import Path


class SecondaryStore(Store):
    """Reads the store of another process, which opened it as `shared`.

    Remembers: the head that was announced; what the database has beyond it is not read. Persists: nothing. Assumes:
    `catch_up` and `set_head` are called by one thread, while others may read. Fails: as a store does.
    """

    @classmethod
    def at(cls, path: Path) -> Self:
        """Open the store in the directory `path`, as it is now."""
        own = Directory.temporary()
        try:
            db = KeyValueStore(path / DATABASE, secondary=own.database)
        except BaseException:
            own.close()
            raise
        return cls(own, db)

    def catch_up(self) -> None:
        """Make everything readable that was written until now, except above the head."""
        self._db.catch_up()

    def set_head(self, number: int, common: int) -> None:
        """Set the head; blocks above `common` are not those that were read before."""
        self.head_number = number
        self.read_cache.evict_above(common)
        self.loaded.refresh()
