"""Accounts, contracts and programs of the client libraries that the node is tested with."""
