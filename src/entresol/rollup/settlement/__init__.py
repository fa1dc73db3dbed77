"""Settlement of batches on L1: what comes next, the transactions for it, and what L1 has."""
