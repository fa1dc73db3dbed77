"""Load the features of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.features import FEATURES
from entresol.node.declaration import declared_features, loaded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.node.feature import Feature


def load_features() -> Iterator[type[Feature]]:
    """Yield the classes of the features that a node has, in their order."""
    for declared in declared_features(FEATURES):
        if declared.load is not None:
            yield loaded(declared.load)
