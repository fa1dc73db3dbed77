"""The explorer: web pages that show both layers, and the files they are made of."""

from entresol.node.feature import DeclaredFeature

FEATURE = DeclaredFeature("explorer", settings="entresol.features.explorer.settings:ExplorerConfig")
