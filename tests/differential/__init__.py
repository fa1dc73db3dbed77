"""The engine against a real anvil: generated transactions, run by both."""
