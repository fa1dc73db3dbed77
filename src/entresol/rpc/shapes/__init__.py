"""The JSON objects that clients read: blocks, transactions, receipts and logs, as encoded bytes.

They are written by f-strings: every value in them is hex, a flag or null, so nothing needs escaping,
and a transaction takes half the time that a JSON encoder takes after its strings are made.
"""
