"""Where the cache of a fork is: nowhere, in a directory of many, or in a file; and the lock of one that is in use."""

from __future__ import annotations

import fcntl
import itertools
import os
import re
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, NamedTuple, Self, TypeAlias

import msgspec

from entresol.features.fork.cache.fork_database import (
    Fork,
    ForkDatabase,
    files_of,
    read_fork,
    size_of,
)
from entresol.features.fork.config.fork_settings import CACHE_VARIABLE
from entresol.features.fork.errors import (
    ForkCacheDamaged,
    ForkCacheFailed,
    ForkCacheMismatch,
    ForkCacheUnusable,
)

SUFFIX: Final = ".sqlite"
VERIFIED: Final = "-verified"
"""The suffix of the name of a cache that has only what was proven (`--fork-verify`)."""

_NAME: Final = re.compile(rf"(\d+)-(\d+)-[0-9a-f]{{12}}({VERIFIED})?\{SUFFIX}", re.ASCII)
_FILE_SUFFIXES: Final = frozenset({SUFFIX, ".db", ".sqlite3"})
_COPIED_ROWS: Final = 10_000

Report: TypeAlias = Callable[[str], None]


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


def in_use(database: Path) -> bool:
    """Return whether a process has a cache open."""
    lock = UseLock.exclusive(database)
    if lock is None:
        return True
    lock.release()
    return False


def delete_unused(database: Path) -> bool:
    """Delete a cache unless a process uses it, and return whether it is gone."""
    return _delete_unused(database, (*files_of(database), lock_file(database)))


def _delete_unused(database: Path, files: Sequence[Path]) -> bool:
    """Delete files of a cache that nobody uses; the lock goes last, with the name that others would lock."""
    lock = UseLock.exclusive(database)
    if lock is None:
        return False
    with _explained(database):
        for file in files:
            file.unlink(missing_ok=True)
    lock.release()
    return True


def _set_aside(database: Path) -> Path | None:
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


class CachedFork(NamedTuple):
    """A fork in a directory; `fork` is None if its file cannot be read."""

    path: Path
    fork: Fork | None
    size: int
    used: float
    """When it was last opened or closed, in seconds since 1970."""

    @property
    def is_verified(self) -> bool:
        """Whether everything in it was proven."""
        return self.path.stem.endswith(VERIFIED)


def default_directory(environment: Mapping[str, str]) -> Path:
    """Return the place of the user's caches: that of our variable, or below XDG's, or below `~/.cache`."""
    own = environment.get(CACHE_VARIABLE, "")
    if own and Path(own).is_absolute():
        return Path(own) / "forks"
    base = environment.get("XDG_CACHE_HOME", "")
    # A relative path is invalid, says XDG.
    home = Path(base) if base and Path(base).is_absolute() else Path("~/.cache").expanduser()
    return home / "entresol" / "forks"


def file_in(directory: Path, fork: Fork, *, is_verified: bool = False) -> Path:
    """Return the file of a fork; what is proven has one of its own."""
    return directory / f"{fork.name}{VERIFIED if is_verified else ''}{SUFFIX}"


def cached_forks(directory: Path) -> list[CachedFork]:
    """Return the forks of a directory, the one that was used last first."""
    found = [cached for path in _databases(directory) if (cached := _cached(path)) is not None]
    return sorted(found, key=lambda cached: (-cached.used, cached.path))


def copy_caches(source: Path, destination: Path) -> None:
    """Copy the caches of a directory to another one, also while processes write them."""
    for cached in cached_forks(source):
        if cached.fork is not None:
            destination.mkdir(parents=True, exist_ok=True)
            copy_cache(cached.path, destination / cached.path.name)


def copy_cache(source: Path, destination: Path) -> tuple[Fork, int]:
    """Add the values of a cache to a file, and return its fork and how many values it has then."""
    with (
        closing(ForkDatabase.open(source)) as original,
        closing(ForkDatabase.create(destination, original.fork)) as copy,
    ):
        rows = original.rows()
        while chunk := list(itertools.islice(rows, _COPIED_ROWS)):
            copy.insert(chunk)
        return copy.fork, sum(copy.counts().values())


class WantedFork(msgspec.Struct, frozen=True):
    """A description of the fork to open; None is any."""

    chain_id: int | None = None
    number: int | None = None
    hash: bytes | None = None
    answer: str | None = None
    """The name of an answer that a start of it got; it selects one of several that fit."""

    def fits(self, fork: Fork) -> bool:
        """Return whether a fork is as it was said."""
        pairs = (
            (self.chain_id, fork.chain_id),
            (self.number, fork.number),
            (self.hash, fork.hash),
        )
        return all(wanted is None or wanted == found for wanted, found in pairs)

    def __str__(self) -> str:
        said = {"chain": self.chain_id, "block": self.number}
        words = [f"{name} {value}" for name, value in said.items() if value is not None]
        words += [f"block 0x{self.hash.hex()}"] if self.hash is not None else []
        return " and ".join(words)


class OpenFiles(msgspec.Struct):
    """The databases of one fork that a place has opened: one to read, and one to write on a connection of its own."""

    read: ForkDatabase | None = None
    write: ForkDatabase | None = None
    lock: UseLock | None = None
    max_bytes: int | None = None
    is_lock_deleted: bool = False
    """Whether the lock goes when nobody uses the file any more: beside a file that a project commits it is in the way."""

    def has_room(self) -> bool:
        """Return whether more may be written, after what was not used for long was deleted."""
        if self.max_bytes is None or self.write is None or self.write.path is None:
            return True
        return make_room(self.write.path.parent, self.max_bytes)

    def close(self) -> None:
        """Close all."""
        for database in (self.read, self.write):
            if database is not None:
                database.close()
        if self.lock is not None:
            self.lock.touch()
            self.lock.release()
            if self.is_lock_deleted and self.read is not None and self.read.path is not None:
                _delete_unused(self.read.path, [lock_file(self.read.path)])


class NoPlace:
    """Keeps nothing on disk."""

    is_of_one_fork: Final = False
    """Whether what is there says which fork is meant."""

    def __str__(self) -> str:
        return "memory"

    def find(self, wanted: WantedFork) -> Fork | None:  # noqa: ARG002
        """There is nothing."""
        return None

    def open(self, fork: Fork, *, is_read_only: bool) -> OpenFiles:  # noqa: ARG002
        """Keep everything in memory."""
        return OpenFiles(ForkDatabase.memory(fork))


class DirectoryPlace:
    """A file a fork, in a directory."""

    is_of_one_fork: Final = False

    def __init__(self, path: Path, max_bytes: int | None, *, is_verified: bool = False) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._is_verified = is_verified

    def __str__(self) -> str:
        return str(self._path)

    def find(self, wanted: WantedFork) -> Fork | None:
        """Return the one fork that fits; several are an error that lists them."""
        fitting = [
            cached.fork
            for cached in cached_forks(self._path)
            if cached.is_verified == self._is_verified
            and cached.fork is not None
            and wanted.fits(cached.fork)
        ]
        if len(fitting) > 1 and wanted.answer is not None:
            fitting = [fork for fork in fitting if self._was_told(fork, wanted.answer)]
        if len(fitting) > 1:
            listed = "; ".join(str(fork) for fork in fitting[:10])
            raise ForkCacheFailed(
                f"{self._path} has {len(fitting)} forks that fit ({listed}): name chain and block"
            )
        return fitting[0] if fitting else None

    def _was_told(self, fork: Fork, answer: str) -> bool:
        path = file_in(self._path, fork, is_verified=self._is_verified)
        with closing(ForkDatabase.open(path, fork)) as database:
            return bool(database.get("answer", [(answer,)]))

    def open(self, fork: Fork, *, is_read_only: bool) -> OpenFiles:
        """Open the file of a fork, and delete others that were not used for long if the directory is too large."""
        path = file_in(self._path, fork, is_verified=self._is_verified)
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
                aside = _set_aside(error.path)
                self._report(f"{error}; it was set aside as {aside}" if aside else str(error))
                return super().open(fork, is_read_only=is_read_only)
        except ForkCacheFailed as error:
            if is_read_only:
                raise
            self._report(f"{error}; what is read of the remote is not cached on disk")
            return NoPlace().open(fork, is_read_only=is_read_only)


class FilePlace:
    """One file for one fork."""

    is_of_one_fork: Final = True

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        return str(self._path)

    def find(self, wanted: WantedFork) -> Fork | None:
        """Return the fork of the file; another one than is wanted is an error."""
        # Who was killed while it created the file has left an empty one.
        if not size_of(self._path):
            return None
        fork = read_fork(self._path)
        if not wanted.fits(fork):
            raise ForkCacheMismatch(self._path, str(fork), str(wanted))
        return fork

    def open(self, fork: Fork, *, is_read_only: bool) -> OpenFiles:
        """Open the file, or create it."""
        files = _opened(self._path, fork, is_read_only=is_read_only)
        files.is_lock_deleted = True
        return files


Place: TypeAlias = NoPlace | DirectoryPlace | FilePlace


def place_of(path: Path, max_bytes: int | None = None, *, is_verified: bool = False) -> Place:
    """Return what `--fork-cache` names: a file, or a directory."""
    if path.is_file() or (path.suffix in _FILE_SUFFIXES and not path.is_dir()):
        return FilePlace(path)
    return DirectoryPlace(path, max_bytes, is_verified=is_verified)


def _opened(path: Path, fork: Fork, *, is_read_only: bool) -> OpenFiles:
    """Open a database under its lock; one that is only read may be where nothing can be written."""
    lock = None
    try:
        lock = UseLock.shared(path)
    except ForkCacheFailed:
        if not is_read_only:
            raise
    try:
        write = None if is_read_only else ForkDatabase.create(path, fork)
        return OpenFiles(ForkDatabase.open(path, fork), write, lock)
    except BaseException:
        if lock is not None:
            lock.release()
        raise


def make_room(directory: Path, max_bytes: int) -> bool:
    """Delete the forks that were used least recently until the rest fits, none that is open; return whether it does."""
    sizes = [(_used(path), _size(path), path) for path in _databases(directory)]
    total = sum(size for _, size, _ in sizes)
    for _, size, path in sorted(sizes):
        if total <= max_bytes:
            break
        if delete_unused(path):
            total -= size
    return total <= max_bytes


def _databases(directory: Path) -> Sequence[Path]:
    try:
        return [path for path in directory.iterdir() if _NAME.fullmatch(path.name)]
    except FileNotFoundError:
        return ()


def _cached(path: Path) -> CachedFork | None:
    try:
        fork = read_fork(path)
    except ForkCacheFailed:
        if not path.exists():
            return None
        fork = None
    return CachedFork(path, fork, _size(path), _used(path))


def _size(path: Path) -> int:
    return sum(size_of(file) for file in files_of(path))


def _used(path: Path) -> float:
    for file in (lock_file(path), path):
        try:
            return file.stat().st_mtime
        except FileNotFoundError:
            continue
    return 0.0


@contextmanager
def _explained(database: Path) -> Iterator[None]:
    """Raise errors of the file system as what they mean for the cache."""
    try:
        yield
    except OSError as error:
        raise ForkCacheUnusable(database, error.strerror or str(error)) from error
