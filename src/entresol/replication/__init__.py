"""Replicas: follow what a producer writes, and forward what it alone can serve."""
