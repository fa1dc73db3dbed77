"""Every error that this package raises on purpose, by module; errors of features are in their folders.

An error says on its class what a client receives: see `EntresolError`. docs/errors.md draws the tree, with codes and
meanings. Any other exception is a bug and is reported as one.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from entresol.errors.base import *
from entresol.errors.chain import *
from entresol.errors.devnet import *
from entresol.errors.execution import *
from entresol.errors.l1 import *
from entresol.errors.rpc import *
from entresol.errors.storage import *
from entresol.errors.transactions import *
from entresol.errors.values import *


def __getattr__(name: str) -> Any:
    """Return an error of a feature, which is imported when one is used first; `__init__.pyi` lists them for checkers."""
    if name == "__all__":
        return __dir__()
    if name.startswith("_") or name not in _of_features():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _of_features()[name]


def __dir__() -> list[str]:
    own = {
        name
        for name, value in globals().items()
        if isinstance(value, type) and issubclass(value, Exception)
    }
    return sorted(own | _of_features().keys())


@cache
def _of_features() -> dict[str, type]:
    """Return the errors of the features that are there, by their names."""
    found: dict[str, type] = {}
    for path in sorted(Path(__file__).parents[1].glob("features/*/errors.py")):
        package = f"entresol.features.{path.parent.name}"
        try:
            module = import_module(f"{package}.errors")
        except ModuleNotFoundError as error:
            if error.name != package:
                raise
            continue
        found |= {
            name: value
            for name, value in vars(module).items()
            if isinstance(value, type) and value.__module__ == module.__name__
        }
    return found
