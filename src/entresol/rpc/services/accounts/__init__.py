"""Accounts and tokens as the explorer asks for them: pages of transfers, holders and transactions."""
