"""Files of a database that turn out to be damaged while it is read."""

from __future__ import annotations

import logging
from pathlib import Path

from rocksdict import DbClosedError

from entresol.errors import EntresolError, StoreDamaged, StoreFailed
from entresol.storage.database.failures import store_error

log = logging.getLogger(__name__)


class DamageReport:
    """What could not be read of a database, reported once.

    A secondary leaves the log to the process that writes, which it tells (`Store.report_damage`).
    Remembers: the first failure, since the same damage is met again and again. Persists: nothing. For any thread.
    """

    def __init__(self, *, is_secondary: bool = False) -> None:
        self._is_secondary = is_secondary
        self.first: StoreDamaged | None = None
        """Why something could not be read; None if everything could."""

    def of(self, path: Path, error: Exception) -> Exception:
        """Return the store error for a read of the database in `path` that failed."""
        failure = store_error(path, error)
        # A closed database is not damaged, and what is not the database's is a bug.
        if isinstance(error, DbClosedError) or not isinstance(failure, EntresolError):
            return failure
        if not isinstance(failure, StoreDamaged):
            if self._is_secondary:
                # The process that writes may just have replaced the file.
                return failure
            failure = StoreDamaged(path, str(error))
        return self.note(failure)

    def note(self, damaged: StoreDamaged) -> StoreFailed:
        """Log the first failure with what to do, and return it."""
        is_first, self.first = self.first is None, self.first or damaged
        if is_first and not self._is_secondary:
            log.error(
                "%s. Requests that need it fail, and the rest is served. Stop the node, and run `entresol verify` on "
                "its directory: if it reads every block, `entresol rebuild` restores the rest; otherwise restore a "
                "copy that `entresol backup` made, or let a node of a cluster read its log again",
                damaged,
            )
        return damaged
