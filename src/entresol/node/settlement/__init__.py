"""Settlement on an L1: which L1 and which contracts, and the services between the two chains."""
