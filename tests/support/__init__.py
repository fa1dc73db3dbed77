"""Helpers of the tests, one of each: clients, nodes, peers, chains and invariants."""
