"""Accounts, codes and slots as of any block; state roots and proofs."""
