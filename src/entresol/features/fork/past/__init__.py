"""The past of a fork: what methods return for blocks at or below its anchor."""
