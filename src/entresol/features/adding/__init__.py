"""L2s that are added to a node while it runs."""

from entresol.node.feature import DeclaredFeature

FEATURE = DeclaredFeature("adding")
