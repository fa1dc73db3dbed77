"""Values of a chain: transactions, headers, receipts, logs, records and batches."""
