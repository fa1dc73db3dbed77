"""Profiles by source: what ran of contracts and how much gas it took, by function and by line."""
