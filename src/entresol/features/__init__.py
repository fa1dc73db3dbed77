"""Features: each adds methods, pages or parts to a node, and can be left out."""
