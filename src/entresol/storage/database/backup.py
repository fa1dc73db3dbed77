"""Copy the data directory of a chain, also while a node uses it."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from entresol.errors import StoreFailed
from entresol.storage.database import recovery
from entresol.storage.database.directory import DATABASE, FORMAT_FILE, LOCK_FILE

ATTEMPTS: Final = 20
"""How often copying starts again because the database has changed its list of tables."""

_TABLES: Final = ".sst"
_IGNORED: Final = frozenset({"LOCK", "LOG"})


def copy_chains(source: Path, destination: Path, folders: Sequence[Path]) -> None:
    """Copy the chains in some folders of a directory, `.` for itself, to one that does not exist, all at one moment.

    A copy in which one chain is later than the other would not start: an L2 must not have deposits that its L1 does not
    have, nor an L1 batches of an L2 that has not sealed them. So both are copied again if either has changed meanwhile.
    """
    if destination.exists():
        raise StoreFailed(f"{destination} exists: choose a directory that does not")
    for _ in range(ATTEMPTS):
        before = [_state(source / folder) for folder in folders]
        for folder in folders:
            copy_chain(source / folder, destination / folder)
        if len(folders) == 1 or before == [_state(source / folder) for folder in folders]:
            return
        shutil.rmtree(destination, ignore_errors=True)
    raise StoreFailed(
        f"{source} changes too fast to be copied with both of its chains: try again when the node has less to do, "
        "or stop it and copy the directory"
    )


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


def _state(chain: Path) -> frozenset[tuple[str, int]]:
    """Return the files of a chain with their sizes: every write adds to one of them."""
    found = set()
    for file in (chain / DATABASE).iterdir():
        if file.name not in _IGNORED:
            with contextlib.suppress(FileNotFoundError):
                found.add((file.name, file.stat().st_size))
    return frozenset(found)


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
