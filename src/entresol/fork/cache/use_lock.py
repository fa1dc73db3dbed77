"""The lock that says that a fork's cache is in use, so that nobody deletes it."""

from __future__ import annotations

import fcntl
import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from entresol.errors import ForkCacheUnusable
from entresol.fork.cache.database import files_of


class UseLock:
    """A lock beside a cache: many processes use it, or one deletes it. It ends with the process.

    A file of its own, because SQLite's locks of the database end when any handle of the process on it is closed. Its
    time of modification is when the cache was last used.
    """

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._release = weakref.finalize(self, os.close, handle)

    @classmethod
    def shared(cls, database: Path) -> Self:
        """Say that this process uses a cache; wait while another one deletes it."""
        file = lock_file(database)
        with _explained(database):
            file.parent.mkdir(parents=True, exist_ok=True)
            while True:
                lock = cls(os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
                fcntl.flock(lock._handle, fcntl.LOCK_SH)
                if lock._is_of(file):
                    lock.touch()
                    return lock
                lock.release()

    @classmethod
    def exclusive(cls, database: Path) -> Self | None:
        """Return a lock that nobody else has, or None if the cache is in use."""
        file = lock_file(database)
        with _explained(database):
            lock = cls(os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            try:
                fcntl.flock(lock._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return None
        return lock if lock._is_of(file) else None

    def touch(self) -> None:
        """Note that the cache was used now."""
        os.utime(self._handle)

    def release(self) -> None:
        """Give the lock back."""
        self._release()

    def _is_of(self, file: Path) -> bool:
        """Return whether the lock is still the file's: who deletes a cache deletes its lock, too."""
        try:
            return os.path.samestat(os.fstat(self._handle), file.stat())
        except FileNotFoundError:
            return False


def lock_file(database: Path) -> Path:
    """Return the file of the lock."""
    return database.with_name(database.name + ".lock")


def delete_unused(database: Path) -> bool:
    """Delete a cache unless a process uses it, and return whether it is gone."""
    lock = UseLock.exclusive(database)
    if lock is None:
        return False
    delete_files(database)
    lock.release()
    return True


def delete_files(database: Path) -> None:
    """Delete a cache whose exclusive lock the caller has; the lock goes last, with the name that others would lock."""
    with _explained(database):
        for file in (*files_of(database), lock_file(database)):
            file.unlink(missing_ok=True)


def set_aside(database: Path) -> Path | None:
    """Rename a damaged cache and return its new path; None if a process uses it."""
    lock = UseLock.exclusive(database)
    if lock is None:
        return None
    aside = database.with_name(database.name + ".damaged")
    *side_files, file = files_of(database)
    with _explained(database):
        for side_file in side_files:
            side_file.unlink(missing_ok=True)
        file.replace(aside)
    lock.release()
    return aside


@contextmanager
def _explained(database: Path) -> Iterator[None]:
    """Raise errors of the file system as what they mean for the cache."""
    try:
        yield
    except OSError as error:
        raise ForkCacheUnusable(database, error.strerror or str(error)) from error
