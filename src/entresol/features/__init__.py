"""Features: each adds methods, pages or parts to a node, and can be left out."""

from typing import Final

FEATURES: Final = (
    "fork",
    "dev",
    "tracing",
    "debugger",
    "explorer",
    "adding",
    "relay",
    "derive",
    "workers",
    "cluster",
)
"""The features that a node has, in the order in which it asks them."""
