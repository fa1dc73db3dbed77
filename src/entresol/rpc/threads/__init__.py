"""Threads for work that takes too long for the event loop, on which clients take turns."""
