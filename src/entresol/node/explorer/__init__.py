"""The explorer of a node: what it is told, and how it reaches the other layer."""
