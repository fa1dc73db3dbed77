"""What nodes of a cluster share: the entries of the canonical log, and how far a store has applied them."""
