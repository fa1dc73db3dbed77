"""Copies of a fork's cache: exports for a repository, and those of a backup."""

from __future__ import annotations

import itertools
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final, NamedTuple

from entresol.errors import ForkCacheMismatch, ForkNotChosen
from entresol.fork.cache import json_lines
from entresol.fork.cache.database import ForkDatabase
from entresol.fork.cache.directory import cached_forks
from entresol.fork.cache.places import ExportPlace, WantedFork
from entresol.fork.cache.rows import Fork
from entresol.fork.cache.use_lock import UseLock, delete_files

_COPIED_ROWS: Final = 10_000


class Exported(NamedTuple):
    """What an export holds now, and the file of new values beside it that is still there because a process uses it."""

    fork: Fork
    values: int
    in_use: Path | None


def export(database: Path, file: Path) -> Exported:
    """Write a cache to an export; one that is there keeps its values."""
    with closing(ForkDatabase.open(database)) as source:
        return Exported(source.fork, _write(file, source), None)


def fold(file: Path) -> Exported:
    """Write an export anew with the values beside it, and delete those."""
    place = ExportPlace(file)
    fork = place.find(WantedFork())
    if fork is None:
        raise ForkNotChosen(f"there is no {file}, and no values are beside it")
    beside = place.beside
    if not beside.exists():
        with closing(json_lines.load(file)) as source:
            return Exported(fork, _write(file, source), None)
    # While it is locked nobody adds a value that would be deleted with the others.
    lock = UseLock.exclusive(beside)
    with ExitStack() as stack:
        if lock is not None:
            stack.callback(lock.release)
        with closing(ForkDatabase.open(beside)) as source:
            values = _write(file, source)
        if lock is not None:
            delete_files(beside)
    return Exported(fork, values, beside if lock is None else None)


def copy_caches(source: Path, destination: Path) -> None:
    """Copy the caches of a directory to another one, also while processes write them."""
    for cached in cached_forks(source):
        if cached.fork is not None:
            destination.mkdir(parents=True, exist_ok=True)
            with (
                closing(ForkDatabase.open(cached.path)) as original,
                closing(ForkDatabase.create(destination / cached.path.name, cached.fork)) as copy,
            ):
                _insert_all(copy, original)


def _write(file: Path, source: ForkDatabase) -> int:
    """Write what a file and a database have together, and return how many values that are."""
    with closing(_existing(file, source.fork)) as merged:
        _insert_all(merged, source)
        return json_lines.write_file(file, merged.fork, merged.rows())


def _existing(file: Path, fork: Fork) -> ForkDatabase:
    if not file.exists():
        return ForkDatabase.memory(fork)
    found = json_lines.load(file)
    if found.fork != fork:
        raise ForkCacheMismatch(file, str(found.fork), str(fork))
    return found


def _insert_all(target: ForkDatabase, source: ForkDatabase) -> None:
    rows = source.rows()
    while chunk := list(itertools.islice(rows, _COPIED_ROWS)):
        target.insert(chunk)
