"""The data directory of a chain, or of several: its lock and its format version."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Final, Self

from entresol.errors import StoreDamaged, StoreFailed, StoreForeign, StoreFull, StoreLocked
from entresol.version import FORMAT

FORMAT_FILE: Final = "FORMAT"
LOCK_FILE: Final = "LOCK"
DATABASE: Final = "database"
FORK_FOLDER: Final = "fork"
"""The folder of what a fork has read of its remote chain; it is there before the chain is."""

_FORMAT_PREFIX: Final = "entresol chain, format "
_UNFINISHED: Final = FORMAT_FILE + ".new"
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})

# Opening writes some files; with less free space it would fail halfway.
MIN_FREE_BYTES: Final = 1 << 20


class Directory:
    """A directory that contains one chain, locked while it is open.

    Nothing in it changes before it is known to be a chain's, and unlocked. The lock is the file
    system's, so it ends with the process. The format file is written last: without it, creating the
    directory was interrupted and may start over.
    """

    def __init__(self, path: Path, lock: int, *, is_new: bool, is_temporary: bool) -> None:
        self.path = path
        self.is_new = is_new
        self.is_temporary = is_temporary
        # Also when the program ends without closing it.
        self._release = weakref.finalize(
            self, _release, path if is_temporary else None, lock, os.getpid()
        )

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open or create the directory at `path`."""
        try:
            is_new = _check(path)
            path.mkdir(parents=True, exist_ok=True)
            return cls(path, _lock(path), is_new=is_new, is_temporary=False)
        except OSError as error:
            raise _failure(path, error) from error

    @classmethod
    def temporary(cls) -> Self:
        """Create a directory that `close`, or the end of the process, removes."""
        path = Path(tempfile.gettempdir())
        try:
            path = Path(tempfile.mkdtemp(prefix="entresol-"))
            return cls(path, _lock(path), is_new=True, is_temporary=True)
        except OSError as error:
            raise _failure(path, error) from error

    @property
    def database(self) -> Path:
        """The directory of the key-value store."""
        return self.path / DATABASE

    def finish(self) -> None:
        """Write the format file, which marks the directory as complete."""
        if not self.is_new or self.is_temporary:
            return
        try:
            write_durably(self.path / FORMAT_FILE, f"{_FORMAT_PREFIX}{FORMAT}\n".encode("ascii"))
        except OSError as error:
            raise _failure(self.path, error) from error

    def close(self) -> None:
        """Unlock the directory, and remove it if it was temporary."""
        self._release()


class DirectoryLock:
    """The lock of a directory that has those of several chains in it, until it is closed or the process ends."""

    def __init__(self, path: Path) -> None:
        """Lock a directory, which is created if it is missing."""
        try:
            _check_free_space(path)
            path.mkdir(parents=True, exist_ok=True)
            self._release = weakref.finalize(self, os.close, _lock(path))
        except OSError as error:
            raise _failure(path, error) from error

    def close(self) -> None:
        """Unlock the directory."""
        self._release()


def check_directory(path: Path) -> bool:
    """Raise a `StoreFailed` if `path` cannot be opened, and return whether it would be a new chain; change nothing."""
    try:
        is_new = _check(path)
        _check_permission(path)
        if (path / LOCK_FILE).exists():
            os.close(_lock(path))
    except OSError as error:
        raise _failure(path, error) from error
    return is_new


def _check(path: Path) -> bool:
    """Check what is at `path`, and return whether a chain has to be created there."""
    is_new = _is_unfinished(path)
    if not is_new:
        _check_format(path)
    _check_free_space(path)
    return is_new


def _check_permission(path: Path) -> None:
    if not os.access(_existing(path), os.W_OK | os.X_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))


def _existing(path: Path) -> Path:
    return next(parent for parent in (path, *path.absolute().parents) if parent.exists())


def _is_unfinished(path: Path) -> bool:
    """Return whether the directory is missing, empty, or left by an interrupted creation."""
    if not path.exists():
        return True
    if not path.is_dir():
        raise StoreForeign(path)
    names = {entry.name for entry in path.iterdir() if not has_only_reads(entry)}
    if FORMAT_FILE in names:
        return False
    # A database writes its first table long after the format file.
    if not names <= {LOCK_FILE, _UNFINISHED, DATABASE, FORK_FOLDER} or any(
        (path / DATABASE).glob("*.sst")
    ):
        raise StoreForeign(path)
    return True


def has_only_reads(path: Path) -> bool:
    """Return whether a folder has what a fork has read, and no chain yet: that of another layer in the same directory."""
    return path.is_dir() and {entry.name for entry in path.iterdir()} == {FORK_FOLDER}


def _check_format(path: Path) -> None:
    text = (path / FORMAT_FILE).read_text(encoding="ascii", errors="replace")
    if not text.startswith(_FORMAT_PREFIX):
        raise StoreForeign(path)
    found = re.fullmatch(r"([1-9][0-9]{0,8})\n", text.removeprefix(_FORMAT_PREFIX), re.ASCII)
    if found is None:
        raise StoreDamaged(path, f"{FORMAT_FILE} reads {text[:80]!r}")
    if int(found[1]) != FORMAT:
        raise StoreFailed(
            f"{path} has format {int(found[1])}, and this version reads format {FORMAT} alone: take the version "
            "that wrote it, "
            "or a new directory"
        )


def _check_free_space(path: Path) -> None:
    system = os.statvfs(_existing(path))
    # Neither a file system that takes no writes nor one of the kernel's is full, although both have no space.
    if system.f_flag & os.ST_RDONLY:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))
    if system.f_blocks and system.f_bavail * system.f_frsize < MIN_FREE_BYTES:
        raise StoreFull(path)


def _lock(path: Path) -> int:
    handle = os.open(path / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise StoreLocked(path) from None
    except OSError:
        os.close(handle)
        raise
    return handle


def _release(temporary: Path | None, lock: int, owner: int) -> None:
    """Unlock, and remove a temporary directory unless this is a forked process."""
    if temporary is not None and os.getpid() == owner:
        shutil.rmtree(temporary, ignore_errors=True)
    os.close(lock)


def write_durably(file: Path, content: bytes) -> None:
    """Write a file atomically and durably."""
    unfinished = file.with_name(file.name + ".new")
    with unfinished.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    unfinished.replace(file)
    for directory in (file.parent, file.parent.parent):
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _failure(path: Path, error: OSError) -> StoreFailed:
    if error.errno in _FULL:
        return StoreFull(path)
    problem = error.strerror or error
    return StoreFailed(f"{path} cannot be used: {problem}; choose another directory")
