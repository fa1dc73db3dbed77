"""Load the features of a node."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from entresol.features import LOADED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.node.feature import Feature


def load_features() -> Iterator[type[Feature]]:
    """Yield the classes of the features that a node has, in their order; one whose folder was deleted is left out."""
    for name, place in LOADED.items():
        package = f"entresol.features.{name}"
        try:
            import_module(package)
        except ModuleNotFoundError as error:
            if error.name != package:
                raise
            continue
        module, _, kind = place.partition(":")
        found: Any = getattr(import_module(module), kind)
        yield found
