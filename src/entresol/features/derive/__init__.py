"""Derive a chain from L1 into a data directory that a node opens."""

from entresol.node.declaration import DeclaredFeature

FEATURE = DeclaredFeature("derive", commands=("derive",))
