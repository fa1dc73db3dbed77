"""What the explorer asks of accounts and tokens: pages of transfers, holders and transactions."""
