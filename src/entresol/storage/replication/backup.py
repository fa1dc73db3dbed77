"""Copy the data directory of a chain, also while a node uses it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from entresol.errors import StoreFailed
from entresol.storage.database import recovery
from entresol.storage.database.directory import DATABASE, FORMAT_FILE, LOCK_FILE

ATTEMPTS: Final = 20
"""How often copying starts again because the database has changed its list of tables."""

_TABLES: Final = ".sst"
_IGNORED: Final = frozenset({"LOCK", "LOG"})


def copy_chain(source: Path, destination: Path) -> None:
    """Copy a chain to a directory that does not exist; tables are hard links where that is possible.

    The copy is the chain at one moment, as a crash at that moment would leave it. Tables never change once they are
    written, and the write-ahead log only grows; so the copy is consistent if the list of tables (the manifest) has not
    changed meanwhile, and is made again otherwise. It is checked at the end.
    """
    if destination.exists():
        raise StoreFailed(f"{destination} exists: choose a directory that does not")
    try:
        database = destination / DATABASE
        for _ in range(ATTEMPTS):
            shutil.rmtree(destination, ignore_errors=True)
            database.mkdir(parents=True)
            if _copy_database(source / DATABASE, database):
                break
        else:
            raise StoreFailed(f"{source} changes too fast to be copied: try again")
        for file in source.iterdir():
            if file.is_file() and file.name not in {LOCK_FILE, FORMAT_FILE}:
                shutil.copy2(file, destination / file.name)
        recovery.check(database)
        # Last, as it marks the directory as complete.
        shutil.copy2(source / FORMAT_FILE, destination / FORMAT_FILE)
    except OSError as error:
        raise StoreFailed(f"{source} cannot be copied: {error.strerror or error}") from error


def _copy_database(source: Path, destination: Path) -> bool:
    """Copy the files of a database, and return whether its list of tables has not changed meanwhile."""
    before = _manifest(source)
    try:
        for file in source.iterdir():
            if file.suffix == _TABLES:
                _link(file, destination / file.name)
        for file in source.iterdir():
            if file.suffix != _TABLES and file.name not in _IGNORED and file.is_file():
                shutil.copyfile(file, destination / file.name)
    except FileNotFoundError:
        # A table or a log that is no longer needed.
        return False
    return _manifest(source) == before


def _manifest(database: Path) -> tuple[str, int]:
    current = (database / "CURRENT").read_text(encoding="ascii").strip()
    return current, (database / current).stat().st_size


def _link(file: Path, destination: Path) -> None:
    try:
        os.link(file, destination)
    except FileNotFoundError:
        raise
    except OSError:
        # Another file system.
        shutil.copyfile(file, destination)
