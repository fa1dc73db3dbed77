"""Where the cache of a fork is: nowhere, in a directory of many, in a file, or beside an export."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final, Protocol

import msgspec

from entresol.errors import (
    ForkCacheDamaged,
    ForkCacheFailed,
    ForkCacheMismatch,
    ForkNotChosen,
)
from entresol.fork.cache import directory, json_lines
from entresol.fork.cache.database import ForkDatabase, read_fork, size_of
from entresol.fork.cache.rows import Fork
from entresol.fork.cache.use_lock import UseLock, delete_unused, set_aside

BESIDE: Final = ".new"
"""What is added to the name of an export for the values that were read since."""

Report = Callable[[str], None]


class WantedFork(msgspec.Struct, frozen=True):
    """What was said of the fork to open; None is any."""

    chain_id: int | None = None
    number: int | None = None
    hash: bytes | None = None
    answer: str | None = None
    """What a start of it was told, by its name; it selects one of several that fit."""

    def fits(self, fork: Fork) -> bool:
        """Return whether a fork is as it was said."""
        pairs = (
            (self.chain_id, fork.chain_id),
            (self.number, fork.number),
            (self.hash, fork.hash),
        )
        return all(wanted is None or wanted == found for wanted, found in pairs)


class OpenFiles(msgspec.Struct):
    """What a place has opened for one fork: databases to read, and the one to write, on a connection of its own."""

    read: list[ForkDatabase]
    write: ForkDatabase | None = None
    lock: UseLock | None = None
    max_bytes: int | None = None
    is_removed_if_empty: bool = False

    def has_room(self) -> bool:
        """Return whether more may be written, after what was not used for long was deleted."""
        if self.max_bytes is None or self.write is None or self.write.path is None:
            return True
        return directory.make_room(self.write.path.parent, self.max_bytes)

    def close(self) -> None:
        """Close all; what was opened for nothing is deleted."""
        path = None if self.write is None else self.write.path
        is_empty = self.is_removed_if_empty and self.write is not None and self.write.is_empty()
        for database in (*self.read, *(() if self.write is None else (self.write,))):
            database.close()
        if self.lock is not None:
            self.lock.touch()
            self.lock.release()
        if is_empty and path is not None:
            delete_unused(path)


class Place(Protocol):
    """Where the cache of a fork is."""

    is_of_one_fork: bool
    """Whether what is there says which fork is meant."""

    def __str__(self) -> str:
        """Return it as it is given on the command line."""

    def find(self, wanted: WantedFork) -> Fork | None:
        """Return the fork that is there, None if there is none; raise an error if it is not the one that is wanted."""

    def open(self, fork: Fork, *, is_read_only: bool) -> OpenFiles:
        """Open the files of a fork, or raise a `ForkCacheFailed`."""


class NoPlace:
    """Keeps nothing on disk."""

    is_of_one_fork = False

    def __str__(self) -> str:
        return "memory"

    def find(self, wanted: WantedFork) -> Fork | None:  # noqa: ARG002
        """There is nothing."""
        return None

    def open(self, fork: Fork, *, is_read_only: bool) -> OpenFiles:  # noqa: ARG002
        """Keep everything in memory."""
        return OpenFiles([ForkDatabase.memory(fork)])


class DirectoryPlace:
    """A file a fork, in a directory."""

    is_of_one_fork = False

    def __init__(self, path: Path, max_bytes: int | None, *, is_verified: bool = False) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._is_verified = is_verified

    def __str__(self) -> str:
        return str(self._path)

    def find(self, wanted: WantedFork) -> Fork | None:
        """Return the one fork that fits; several are an error that lists them."""
        cached = [
            cached_fork
            for cached_fork in directory.cached_forks(self._path)
            if cached_fork.is_verified == self._is_verified
        ]
        fitting = [it.fork for it in cached if it.fork is not None and wanted.fits(it.fork)]
        if len(fitting) > 1 and wanted.answer is not None:
            fitting = [it for it in fitting if self._was_told(it, wanted.answer)]
        if len(fitting) > 1:
            listed = "; ".join(str(it) for it in fitting[:10])
            raise ForkNotChosen(
                f"{self._path} has {len(fitting)} forks that fit ({listed}): name chain and block"
            )
        return fitting[0] if fitting else None

    def _was_told(self, fork: Fork, answer: str) -> bool:
        path = directory.file_in(self._path, fork, is_verified=self._is_verified)
        with closing(ForkDatabase.open(path)) as database:
            return bool(database.get("answer", [(answer,)]))

    def open(self, fork: Fork, *, is_read_only: bool) -> OpenFiles:
        """Open the file of a fork, and delete others that were not used for long if the directory is too large."""
        path = directory.file_in(self._path, fork, is_verified=self._is_verified)
        files = _opened(path, fork, is_read_only=is_read_only)
        files.max_bytes = self._max_bytes
        if not is_read_only:
            files.has_room()
        return files


class DefaultPlace(DirectoryPlace):
    """The user's cache directory: a file there that cannot be used never fails a start."""

    def __init__(
        self, path: Path, max_bytes: int | None, report: Report, *, is_verified: bool = False
    ) -> None:
        super().__init__(path, max_bytes, is_verified=is_verified)
        self._report = report

    def open(self, fork: Fork, *, is_read_only: bool) -> OpenFiles:
        """Open the file of a fork; set a damaged one aside, and do without one that cannot be used."""
        try:
            try:
                return super().open(fork, is_read_only=is_read_only)
            except ForkCacheDamaged as error:
                if is_read_only:
                    raise
                aside = set_aside(error.path)
                self._report(f"{error}; it was set aside as {aside}" if aside else str(error))
                return super().open(fork, is_read_only=is_read_only)
        except ForkCacheFailed as error:
            if is_read_only:
                raise
            self._report(f"{error}; what is read of the remote is not cached on disk")
            return NoPlace().open(fork, is_read_only=is_read_only)


class FilePlace:
    """One file for one fork."""

    is_of_one_fork = True

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        return str(self._path)

    def find(self, wanted: WantedFork) -> Fork | None:
        """Return the fork of the file; another one than is wanted is an error."""
        # Who was killed while it created the file has left an empty one.
        if not size_of(self._path):
            return None
        return _checked(self._path, read_fork(self._path), wanted)

    def open(self, fork: Fork, *, is_read_only: bool) -> OpenFiles:
        """Open the file, or create it."""
        return _opened(self._path, fork, is_read_only=is_read_only)


class ExportPlace:
    """An export, and beside it the values that were read since."""

    is_of_one_fork = True

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        return str(self._path)

    @property
    def beside(self) -> Path:
        """The database of the values that are not in the export yet."""
        return self._path.with_name(self._path.name + BESIDE)

    def find(self, wanted: WantedFork) -> Fork | None:
        """Return the fork of the export; another one than is wanted is an error."""
        if self._path.exists():
            return _checked(self._path, json_lines.read_header(self._path), wanted)
        return FilePlace(self.beside).find(wanted)

    def open(self, fork: Fork, *, is_read_only: bool) -> OpenFiles:
        """Read the export; what is beside it was read later."""
        recorded = json_lines.load(self._path) if self._path.exists() else ForkDatabase.memory(fork)
        if recorded.fork != fork:
            raise ForkCacheMismatch(self._path, str(recorded.fork), str(fork))
        if is_read_only and not self.beside.exists():
            return OpenFiles([recorded])
        files = _opened(self.beside, fork, is_read_only=is_read_only)
        files.read.append(recorded)
        files.is_removed_if_empty = True
        return files


def _checked(path: Path, fork: Fork, wanted: WantedFork) -> Fork:
    if not wanted.fits(fork):
        said = {"chain": wanted.chain_id, "block": wanted.number}
        words = [f"{name} {value}" for name, value in said.items() if value is not None]
        words += [f"block 0x{wanted.hash.hex()}"] if wanted.hash is not None else []
        raise ForkCacheMismatch(path, str(fork), " and ".join(words))
    return fork


def _opened(path: Path, fork: Fork, *, is_read_only: bool) -> OpenFiles:
    """Open a database under its lock; one that is only read may be where nothing can be written."""
    lock = None
    try:
        lock = UseLock.shared(path)
    except ForkCacheFailed:
        if not is_read_only:
            raise
    try:
        if is_read_only:
            return OpenFiles([_checked_database(path, fork)], lock=lock)
        write = ForkDatabase.create(path, fork)
        return OpenFiles([ForkDatabase.open(path)], write, lock)
    except BaseException:
        if lock is not None:
            lock.release()
        raise


def _checked_database(path: Path, fork: Fork) -> ForkDatabase:
    database = ForkDatabase.open(path)
    if database.fork != fork:
        database.close()
        raise ForkCacheMismatch(path, str(database.fork), str(fork))
    return database
