"""Hostile requests for a running node: making them, sending them, judging the answers."""
