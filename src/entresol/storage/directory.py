"""The directory of a chain: who may use it, and what format it has."""

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

from entresol.errors import (
    StoreDamaged,
    StoreFailed,
    StoreForeign,
    StoreFull,
    StoreLocked,
    StoreTooNew,
)
from entresol.storage.tables import FORMAT

FORMAT_FILE: Final = "FORMAT"
LOCK_FILE: Final = "LOCK"
DATABASE: Final = "database"

_WORDS: Final = "entresol chain, format "
_UNFINISHED: Final = FORMAT_FILE + ".new"
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})

# Opening alone writes some files; with less than this it would fail halfway.
ROOM_BYTES: Final = 1 << 20


class Directory:
    """A directory that holds one chain, locked as long as it is open.

    Nothing in it is changed before it is known to be ours and free. The lock is the file system's,
    so it goes when the process does. The format is written last of all: without it the directory was
    never finished, and making it may begin again.
    """

    def __init__(self, path: Path, lock: int, *, is_new: bool, is_temporary: bool) -> None:
        self.path = path
        self.is_new = is_new
        self.is_temporary = is_temporary
        # Also at the end of a program that never closed it.
        self._release = weakref.finalize(
            self, _release, path if is_temporary else None, lock, os.getpid()
        )

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open or create the directory at `path`."""
        try:
            is_new = _is_unfinished(path)
            if not is_new:
                _check_format(path)
            _check_room(path)
            path.mkdir(parents=True, exist_ok=True)
            return cls(path, _lock(path), is_new=is_new, is_temporary=False)
        except OSError as error:
            raise _failure(path, error) from error

    @classmethod
    def temporary(cls) -> Self:
        """Create a directory that is gone after `close`, or else when the process ends."""
        path = Path(tempfile.gettempdir())
        try:
            path = Path(tempfile.mkdtemp(prefix="entresol-"))
            return cls(path, _lock(path), is_new=True, is_temporary=True)
        except OSError as error:
            raise _failure(path, error) from error

    @property
    def database(self) -> Path:
        """Where the engine keeps its files."""
        return self.path / DATABASE

    def finish(self) -> None:
        """Say that the directory is whole; nothing is to be said twice."""
        if not self.is_new or self.is_temporary:
            return
        try:
            write_durably(self.path / FORMAT_FILE, f"{_WORDS}{FORMAT}\n".encode("ascii"))
        except OSError as error:
            raise _failure(self.path, error) from error

    def close(self) -> None:
        """Unlock the directory, and remove it if it was temporary."""
        self._release()


def _is_unfinished(path: Path) -> bool:
    """Say whether there is nothing yet, or only what was left when the making was interrupted."""
    if not path.exists():
        return True
    if not path.is_dir():
        raise StoreForeign(path)
    names = {entry.name for entry in path.iterdir()}
    if FORMAT_FILE in names:
        return False
    # A database gets its first table long after its format was written.
    if not names <= {LOCK_FILE, _UNFINISHED, DATABASE} or any((path / DATABASE).glob("*.sst")):
        raise StoreForeign(path)
    return True


def _check_format(path: Path) -> None:
    text = (path / FORMAT_FILE).read_text(encoding="ascii", errors="replace")
    if not text.startswith(_WORDS):
        raise StoreForeign(path)
    found = re.fullmatch(r"([1-9][0-9]{0,8})\n", text.removeprefix(_WORDS), re.ASCII)
    if found is None:
        raise StoreDamaged(path, f"{FORMAT_FILE} reads {text[:80]!r}")
    if int(found[1]) > FORMAT:
        raise StoreTooNew(path, int(found[1]), FORMAT)


def _check_room(path: Path) -> None:
    existing = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    if shutil.disk_usage(existing).free < ROOM_BYTES:
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


def _release(doomed: Path | None, lock: int, owner: int) -> None:
    """Undo `open` or `temporary`; a forked process leaves its parent's directory alone."""
    if doomed is not None and os.getpid() == owner:
        shutil.rmtree(doomed, ignore_errors=True)
    os.close(lock)


def write_durably(file: Path, content: bytes) -> None:
    """Write a file so that after a power cut it is there whole or not at all."""
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
