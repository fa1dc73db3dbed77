"""What ties L2 to L1: deposits, batches, the message tree and its proofs, settlement."""
