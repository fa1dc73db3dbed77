"""The log: what is logged, how it is formatted, and where it is written."""
