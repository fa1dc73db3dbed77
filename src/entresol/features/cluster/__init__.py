"""A node of a cluster: its role, producing, joining, and the commands of operators."""

from entresol.node.declaration import DeclaredFeature

FEATURE = DeclaredFeature(
    "cluster", settings="entresol.features.cluster.settings:ClusterConfig", commands=("cluster",)
)
