"""What a chain is made of: values, transactions, headers, receipts, logs and messages."""
