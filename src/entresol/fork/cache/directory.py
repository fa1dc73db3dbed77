"""A directory with the caches of many forks: their names, their sizes, and which one goes first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from entresol.errors import ForkCacheFailed
from entresol.fork.cache.database import files_of, read_fork, size_of
from entresol.fork.cache.rows import Fork
from entresol.fork.cache.use_lock import UseLock, delete_unused, lock_file
from entresol.fork.settings import CACHE_VARIABLE

SUFFIX: Final = ".sqlite"
VERIFIED: Final = "-verified"
"""What is added to the name of a cache that has only what was proven (`--fork-verify`)."""
_NAME: Final = re.compile(rf"(\d+)-(\d+)-[0-9a-f]{{12}}({VERIFIED})?\.sqlite", re.ASCII)


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
    found = [_cached(path) for path in _databases(directory)]
    return sorted((it for it in found if it is not None), key=lambda it: (-it.used, it.path))


def in_use(path: Path) -> bool:
    """Return whether a process has a cache open."""
    lock = UseLock.exclusive(path)
    if lock is None:
        return True
    lock.release()
    return False


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
