"""Transactions of a remote chain, executed again here and compared with their receipts."""
