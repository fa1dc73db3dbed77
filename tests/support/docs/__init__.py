"""Pages of the docs, and the programs on them."""
