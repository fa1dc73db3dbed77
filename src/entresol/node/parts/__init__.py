"""Parts of a node, and what several recipes make of them."""
