"""Several L2s on one L1."""
