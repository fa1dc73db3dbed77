"""Errors of RocksDB as errors of a store."""

from __future__ import annotations

import errno
from pathlib import Path

from rocksdict import DbClosedError

from entresol.errors import EntresolError, StoreDamaged, StoreFailed, StoreFull, StoreLocked


def store_error(path: Path, error: Exception) -> Exception:
    """Return the store error for an error of the database in `path`; any other error as it is."""
    if isinstance(error, DbClosedError):
        return StoreFailed(f"the store in {path} is closed")
    # The binding raises bare exceptions, so only their text tells them apart.
    return _by_text(path, str(error)) if type(error) is Exception else error


def _by_text(path: Path, text: str) -> EntresolError:
    if (
        "No space left" in text
        or "Disk quota exceeded" in text
        or f"errno = {errno.ENOSPC}" in text
    ):
        return StoreFull(path)
    if "lock hold by current process" in text or "While lock file" in text:
        return StoreLocked(path)
    if text.startswith("Corruption") or "CURRENT" in text or "MANIFEST" in text:
        return StoreDamaged(path, text)
    return StoreFailed(f"the store in {path} failed: {text}")
