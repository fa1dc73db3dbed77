"""`eth_simulateV1`: simulated blocks on top of a block of the chain."""
