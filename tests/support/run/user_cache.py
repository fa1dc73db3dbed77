"""The cache of forks: one of the run, so that tests leave the user's as it is."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from entresol.fork.cache.directory import default_directory
from entresol.fork.settings import CACHE_VARIABLE

Listing: TypeAlias = dict[str, tuple[int, int]]
"""Size and time of each file, by its name."""


@contextlib.contextmanager
def own_cache(folder: Path) -> Iterator[None]:
    """Let forks of this process, and of those that it starts, keep what they read in a folder.

    By a variable of our own: tools that tests start have caches of theirs where XDG's says.
    """
    before = os.environ.get(CACHE_VARIABLE)
    os.environ[CACHE_VARIABLE] = str(folder)
    try:
        yield
    finally:
        del os.environ[CACHE_VARIABLE]
        if before is not None:
            os.environ[CACHE_VARIABLE] = before


def user_cache() -> Path:
    """Return where forks of the user are cached."""
    return default_directory({it: os.environ[it] for it in os.environ if it != CACHE_VARIABLE})


def listing(folder: Path) -> Listing:
    """Return what is in a folder, which need not be there."""
    found: Listing = {}
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            stat = path.stat()
            found[str(path.relative_to(folder))] = (stat.st_size, stat.st_mtime_ns)
    return found


def changes(before: Listing, after: Listing) -> list[str]:
    """Return the names of files that are new, gone, or others."""
    return sorted(it for it in before.keys() | after.keys() if before.get(it) != after.get(it))
