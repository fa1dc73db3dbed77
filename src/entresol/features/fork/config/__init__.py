"""Settings of forks: where the remote chains are, which blocks the copies stand on, and how they are asked."""
