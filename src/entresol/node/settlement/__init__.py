"""Settlement on an L1: which L1 and which contracts, and the workers between the two chains."""
