"""The version of the package. Asking the installation for it takes longer than opening a chain."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
