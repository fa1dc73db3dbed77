"""A remote chain below a local one: what a fork reads of it, and what is cached of that."""

from entresol.node.declaration import DeclaredFeature

FEATURE = DeclaredFeature(
    "fork", settings="entresol.features.fork.settings:ForkConfig", commands=("cache", "replay")
)
