"""The declaration of a feature: data, which every start reads and which loads nothing of the feature."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class DeclaredFeature(NamedTuple):
    """A feature as its package declares it, by the name `FEATURE`."""

    name: str
    """The name of its folder, and of the table of its settings."""
    settings: str | None = None
    """Its section of the settings: "module:class"."""
    commands: tuple[str, ...] = ()
    """The words of the command line that it carries out."""
    load: str | None = None
    """Its class: "module:class"; None if it has only commands, or is an assembly."""


def declared_features(names: Iterable[str]) -> Iterator[DeclaredFeature]:
    """Yield the declarations of features, but of those whose folders were deleted."""
    for name in names:
        package = f"entresol.features.{name}"
        try:
            yield import_module(package).FEATURE
        except ModuleNotFoundError as error:
            if error.name != package:
                raise


def loaded(place: str) -> Any:
    """Return what "module:name" names."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def sections_of_features(names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Yield the name and the section of each of these features that has settings."""
    for declared in declared_features(names):
        if declared.settings is not None:
            yield declared.name, loaded(declared.settings)
