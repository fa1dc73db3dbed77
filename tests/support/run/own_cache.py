"""The cache of forks: one of the run, so that tests leave the user's as it is."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from entresol.fork.settings import CACHE_VARIABLE


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
