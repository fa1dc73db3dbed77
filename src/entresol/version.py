"""The version of the package, and of what it stores. Asking the installation takes longer than opening a chain."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"

FORMAT: Final = 4
"""The format of data directories, our part of state files, caches of forks and tables of clusters; others are rejected."""
