"""Derive the blocks of a chain from what is published of them on L1."""
