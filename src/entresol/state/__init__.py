"""Accounts, code and slots as they stood after any block; roots and proofs."""
