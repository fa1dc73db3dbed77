"""Checkpoints of a chain, and reverts to them."""
