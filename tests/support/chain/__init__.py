"""Chains, records and transactions that tests set up in memory."""
