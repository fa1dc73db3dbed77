"""Remote chains that tests fork: in memory, or a real node behind a proxy."""
