"""Memory that a file of tests leaves behind: its caches, and what the allocator keeps."""

from __future__ import annotations

import ctypes
import sys
from types import ModuleType
from typing import Final

_TRIM: Final = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
"""Of glibc alone."""


def release_memory(module: ModuleType) -> None:
    """Empty the caches that a module of tests defines, and return to the system what is free."""
    for value in list(vars(module).values()):
        if hasattr(value, "cache_clear") and value.__module__ == module.__name__:
            value.cache_clear()
    if _TRIM is not None:
        _TRIM(0)
