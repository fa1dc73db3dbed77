"""Chains that are derived from what others have published."""
