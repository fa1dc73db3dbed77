"""Suites and checklists that others wrote, run against a node."""
