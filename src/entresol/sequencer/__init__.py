"""Decide what the next block is and when it is sealed: in this process at once, in the background, or elsewhere."""
