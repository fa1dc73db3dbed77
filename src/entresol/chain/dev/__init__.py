"""Developer control over a chain: keys, clock, state edits, checkpoints."""
