"""Caches of rendered blocks, logs and call results."""
