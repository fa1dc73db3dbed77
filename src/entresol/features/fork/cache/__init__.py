"""Caches of what forks have read of their remote chains, on disk: one SQLite file a chain and anchor."""
