"""The thread that writes what a fork has read, in batches."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from entresol.errors.base import without_frames
from entresol.features.fork.cache.fork_database import Row, RowKey, RowValue
from entresol.features.fork.errors import ForkCacheConflict, ForkCacheFailed

logger = logging.getLogger(__name__)

Write: TypeAlias = Callable[[Sequence[Row]], None]

BATCH_ROWS: Final = 5_000
"""How many rows one transaction has at most, so that other processes get their turn."""
MAX_BYTES: Final = 64 << 20
"""How much waits at most, for a disk that is full or slow; more is not cached."""
RETRY_SECONDS: Final = 5.0
COLLECT_SECONDS: Final = 0.05
"""How long more rows are waited for: a transaction for each value of a chain of reads would hold up the next read."""


class RowWriter:
    """Writes rows on a thread of its own: a transaction may wait for the disk, and for other processes.

    Assumes: `write` is all or nothing. Fails: never; what could not be written is `problem`, and rows of a failed write
    are tried again, apart from conflicts, which another process's value wins. A thread that dies is a problem that
    stays.
    """

    def __init__(self, write: Write, report: Callable[[ForkCacheFailed], None]) -> None:
        self._write = write
        self._report = report
        self._waiting: dict[tuple[str, RowKey], RowValue] = {}
        self._writing: dict[tuple[str, RowKey], RowValue] = {}
        self._changed = threading.Condition()
        self._is_closed = False
        self._is_urgent = False
        self._is_dead = False
        self.problem: ForkCacheFailed | None = None
        self.conflict: ForkCacheConflict | None = None
        self._bytes = 0
        self._thread = threading.Thread(target=self._run, name="fork-cache", daemon=True)
        self._thread.start()

    def get(self, kind: str, key: RowKey) -> RowValue | None:
        """Return a value that is not written yet."""
        with self._changed:
            found = self._waiting.get((kind, key))
            return self._writing.get((kind, key)) if found is None else found

    def put(self, rows: Iterable[Row]) -> None:
        """Have rows written soon."""
        with self._changed:
            had_rows = bool(self._waiting)
            for row in rows:
                if self._bytes + row.size <= MAX_BYTES:
                    self._bytes += row.size
                    self._waiting[row.kind, row.key] = row.value
            # While it collects, more rows need not wake it.
            if not had_rows or len(self._waiting) >= BATCH_ROWS:
                self._changed.notify_all()

    def flush(self) -> None:
        """Wait until everything is written, or until a write has failed."""
        with self._changed:
            self._forget_problem()
            self._is_urgent = True
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: not (self._waiting or self._writing) or self.problem is not None
            )

    def close(self) -> None:
        """Write what waits, once, and end the thread."""
        with self._changed:
            self._is_closed = True
            self._forget_problem()
            self._changed.notify_all()
        self._thread.join()

    def _forget_problem(self) -> None:
        if not self._is_dead:
            self.problem = None

    def _run(self) -> None:
        try:
            self._write_until_closed()
        except Exception as error:
            logger.exception("the cache of a fork is not written any more")
            failure = ForkCacheFailed(f"the cache is not written any more: {error!r}")
            failure.__cause__ = without_frames(error)
            with self._changed:
                self._is_dead = True
                self.problem = failure
                # Whoever flushes waits for this thread.
                self._changed.notify_all()

    def _write_until_closed(self) -> None:
        while self._take():
            try:
                self._write(self._taken())
            except ForkCacheConflict as error:
                self._drop_conflict(error)
            except ForkCacheFailed as error:
                if not self._wait_after(error):
                    return
            else:
                self._written(None)

    def _take(self) -> bool:
        """Wait for rows to write; return False when there are none and the writer is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_closed)
            self._changed.wait_for(self._must_write, COLLECT_SECONDS)
            self._is_urgent = False
            keys = list(self._waiting)[:BATCH_ROWS]
            self._writing = {key: self._waiting.pop(key) for key in keys}
            return bool(keys)

    def _taken(self) -> list[Row]:
        return [Row(kind, key, value) for (kind, key), value in self._writing.items()]

    def _must_write(self) -> bool:
        return self._is_closed or self._is_urgent or len(self._waiting) >= BATCH_ROWS

    def _written(self, problem: ForkCacheFailed | None) -> None:
        with self._changed:
            self._bytes -= sum(row.size for row in self._taken())
            self._writing = {}
            self.problem = problem
            self._changed.notify_all()

    def _drop_conflict(self, error: ForkCacheConflict) -> None:
        """Write the rows one by one, without those that another process has written with another value."""
        for row in self._taken():
            try:
                self._write([row])
            except ForkCacheConflict as conflict:
                error = conflict
            except ForkCacheFailed:
                continue
        with self._changed:
            self.conflict = error
        self._written(None)

    def _wait_after(self, error: ForkCacheFailed) -> bool:
        """Let rows wait that could not be written, for a while; return whether to try again."""
        self._report(error)
        with self._changed:
            is_last_try = self._is_closed
            self._waiting = self._writing | self._waiting
            self._writing = {}
            self.problem = error
            self._changed.notify_all()
            # A flush or a close clears the problem, and so asks for another try.
            self._changed.wait_for(lambda: self._is_closed or self.problem is None, RETRY_SECONDS)
            return not is_last_try
