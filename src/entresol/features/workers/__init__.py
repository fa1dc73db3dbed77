"""Several processes that serve one node: the producer, and workers that follow it (`--workers`)."""
