"""The declaration of a feature: data, which every start reads and which loads nothing of the feature."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, NamedTuple


class DeclaredFeature(NamedTuple):
    """A feature as its package declares it, by the name `FEATURE`."""

    name: str
    """The name of its folder, and of the table of its settings."""
    settings: str | None = None
    """Its section of the settings: "module:class"."""


def sections_of_features(names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Yield the name and the section of each of these features that has settings."""
    for name in names:
        declared: DeclaredFeature = import_module(f"entresol.features.{name}").FEATURE
        if declared.settings is not None:
            module, _, section = declared.settings.partition(":")
            yield declared.name, getattr(import_module(module), section)
