"""The JSON objects that clients read: blocks, transactions, receipts and logs, as encoded bytes.

They are written by f-strings: every value in them is hex, a flag or null, so that nothing needs escaping,
and what many of them share (a block's place, the context of a log) is written once and spliced. A
JSON encoder takes about as long for one object, and cannot share.
"""
