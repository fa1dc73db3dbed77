"""Configuration, assembly and life cycle of a node."""
