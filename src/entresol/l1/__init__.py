"""Layer 1: its interface, the remote and the embedded one, and the settlement contracts on it."""
