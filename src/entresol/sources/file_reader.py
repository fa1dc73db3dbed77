"""Read files of folders within limits, and only what is a file."""

from __future__ import annotations

import errno
import logging
import os
import stat
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger(__name__)

SOURCES_FLAG: Final = "--sources"

MAX_TOTAL_BYTES: Final = 2 << 30


class FileReader:
    """Reads files up to a size each, and up to a size together. Fails: never; a file that is not read is logged."""

    def __init__(self) -> None:
        self._room = MAX_TOTAL_BYTES
        self._read: set[Path] = set()
        self._rejected: set[Path] = set()

    def content(self, path: Path, limit: int) -> bytes | None:
        """Return a file of at most `limit` bytes; a file that is read again counts once."""
        if path in self._rejected:
            return None
        is_new = path not in self._read
        room = self._room if is_new else limit
        try:
            content = _regular_content(path, min(limit, room))
        except (OSError, ValueError) as error:
            problem = error.strerror if isinstance(error, OSError) else None
            self._reject(path, problem or str(error))
            return None
        if content is None:
            text = f"all files together have more than {MAX_TOTAL_BYTES:,} bytes"
            own = f"it has more than {limit:,} bytes"
            self._reject(path, f"it is too large: {text if room < limit else own}")
        elif is_new:
            self._read.add(path)
            self._room -= len(content)
        return content

    def _reject(self, path: Path, problem: str) -> None:
        self._rejected.add(path)
        log.warning("%s: %s is not read: %s", SOURCES_FLAG, path, problem)


def is_file(path: Path) -> bool:
    """Return whether a path is a file; one that cannot be a path is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _regular_content(path: Path, limit: int) -> bytes | None:
    """Return the bytes of a file, or None if there are more than `limit`."""
    # A pipe that nobody writes to is opened without waiting for a writer.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        # One that grows meanwhile is not read further.
        content = file.read(status.st_size + 1) if status.st_size <= limit else None
    return None if content is None or len(content) > limit else content
