"""Where a chain is kept: the log of canonical records, and the indexes over it."""
