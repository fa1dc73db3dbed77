"""The rollup: deposits from L1, batches, message proofs, settlement on L1."""
