"""`--fork-verify`: everything that is answered of the remote's past follows from one hash, that of the anchor.

Accounts and slots are proven where they are read (`state_fetch`), by `proofs`. Headers have their hashes, and each is an
ancestor of the anchor; transactions, receipts and withdrawals have the roots of their header. All else is computed from
these, or rejected by name.
"""
