"""Execution of transactions, calls, estimates and simulations against a state."""
