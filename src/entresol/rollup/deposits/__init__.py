"""The deposits of L1: read, compared with its contract, and enqueued."""
