"""L2s that are added to a node while it runs."""
