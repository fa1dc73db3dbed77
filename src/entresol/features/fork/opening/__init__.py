"""The forks of a node: remote chains that are opened at the start, and replaced while it runs."""
