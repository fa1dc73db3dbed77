"""The fixtures of `ape test`: `l1`, `l2`, `bridge` and `bridges`.

pytest loads it wherever the package is installed. `-p no:ape_entresol` turns it off.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

REPLACED = ("entresol-fixtures", "entresol-reports")
"""The fixtures of Entresol's own plugin, whose `accounts` would hide those of Ape, and its reports."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register the fixtures, instead of those for web3.py."""
    blocked: Iterable[str] = REPLACED
    for name in blocked:
        config.pluginmanager.set_blocked(name)
    module = import_module("ape_entresol.fixtures")
    config.pluginmanager.register(module, "ape-entresol-fixtures")
