"""Hostile requests for a running node: generating them, sending them, checking the responses."""
