"""The explorer of a node: its settings, and how it reaches the other layer."""
