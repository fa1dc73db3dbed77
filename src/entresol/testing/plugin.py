"""The pytest plugin: registers the fixtures if web3.py is installed, and does nothing otherwise.

It is loaded in every run where the package is installed, so it imports nothing. `-p no:entresol` turns it off.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Register the fixtures."""
    if find_spec("web3") is not None:
        fixtures = import_module("entresol.testing.fixtures")
        config.pluginmanager.register(fixtures, "entresol-fixtures")
