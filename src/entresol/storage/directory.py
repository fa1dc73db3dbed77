"""The directory of a chain: who may use it, and what format it has."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final, Self

from entresol.errors import StoreDamaged, StoreFailed, StoreForeign, StoreLocked, StoreTooNew
from entresol.storage.tables import FORMAT

_FORMAT_FILE: Final = "FORMAT"
_LOCK_FILE: Final = "LOCK"
_DATABASE: Final = "database"
_WORDS: Final = "entresol chain, format "


class Directory:
    """A directory that holds one chain, locked as long as it is open.

    Nothing in it is changed before it is known to be ours, readable and free. The lock is the
    file system's, so it goes when the process does.
    """

    def __init__(self, path: Path, lock: int, *, is_new: bool, is_temporary: bool) -> None:
        self.path = path
        self.is_new = is_new
        self.is_temporary = is_temporary
        self._lock = lock

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open or create the directory at `path`."""
        try:
            is_new = not path.exists() or not any(path.iterdir())
            if not is_new:
                _check_format(path)
            path.mkdir(parents=True, exist_ok=True)
            lock = _lock(path)
            if is_new:
                (path / _FORMAT_FILE).write_text(f"{_WORDS}{FORMAT}\n", encoding="ascii")
        except OSError as error:
            reason = error.strerror or str(error)
            raise StoreFailed(f"{path} cannot be used: {reason}") from error
        return cls(path, lock, is_new=is_new, is_temporary=False)

    @classmethod
    def temporary(cls) -> Self:
        """Create a directory that is gone after `close`."""
        path = Path(tempfile.mkdtemp(prefix="entresol-"))
        return cls(path, _lock(path), is_new=True, is_temporary=True)

    @property
    def database(self) -> Path:
        """Where the engine keeps its files."""
        return self.path / _DATABASE

    def close(self) -> None:
        """Unlock the directory, and remove it if it was temporary."""
        if self.is_temporary:
            shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _check_format(path: Path) -> None:
    if not path.is_dir():
        raise StoreForeign(path)
    file = path / _FORMAT_FILE
    if not file.is_file():
        raise StoreForeign(path)
    text = file.read_text(encoding="ascii", errors="replace").strip()
    if not text.startswith(_WORDS):
        raise StoreForeign(path)
    try:
        found = int(text.removeprefix(_WORDS))
    except ValueError:
        raise StoreDamaged(path, f"{_FORMAT_FILE} reads {text[:80]!r}") from None
    if found > FORMAT:
        raise StoreTooNew(path, found, FORMAT)


def _lock(path: Path) -> int:
    handle = os.open(path / _LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        with contextlib.suppress(OSError):
            os.close(handle)
        raise StoreLocked(path) from None
    return handle
