"""L2s that are added to a node while it runs."""

from entresol.node.declaration import DeclaredFeature

FEATURE = DeclaredFeature("adding", load="entresol.features.adding.feature:AddingFeature")
