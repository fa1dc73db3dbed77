"""A cluster for tests: PostgreSQL, nodes, faults, and a checker of what clients saw."""
