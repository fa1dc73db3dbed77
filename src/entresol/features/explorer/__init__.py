"""The explorer: web pages that show both layers, and the files they are made of."""

from entresol.node.declaration import DeclaredFeature

FEATURE = DeclaredFeature(
    "explorer",
    settings="entresol.features.explorer.settings:ExplorerConfig",
    load="entresol.features.explorer.feature:ExplorerFeature",
)
