"""Cursors that reads share between two writes."""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocksdict import Rdict, RdictIter


class Cursors:
    """A cursor for each thread that reads: making one takes as long as a seek.

    Remembers: the cursors since the last write, with what was in the database then. Assumes: `forget` after every
    write, and before the database is closed, because a cursor keeps it open. Fails: never.
    """

    def __init__(self, db: Rdict) -> None:
        self._db = db
        self._by_thread: dict[int, RdictIter] = {}

    def own(self) -> RdictIter:
        """Return the cursor of this thread; where it stands is undefined."""
        # First, so that a cursor which is made while another thread writes is forgotten with the others.
        by_thread, thread = self._by_thread, get_ident()
        cursor = by_thread.get(thread)
        if cursor is None:
            cursor = by_thread[thread] = self._db.iter()
        return cursor

    def forget(self) -> None:
        """Let the next reads see what was written."""
        self._by_thread = {}
