"""The JSON of domain values: blocks, transactions, receipts and logs, as encoded bytes.

They are written by f-strings: every value in them is hex, a flag or null, so that nothing needs escaping, and
members that many objects share (a block's number and hash, the context of a log) are written once and reused. A
JSON encoder takes about as long for one object, and cannot share.
"""
