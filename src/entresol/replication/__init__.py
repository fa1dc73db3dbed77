"""Replicas: which calls they serve, and which only their producer can."""
