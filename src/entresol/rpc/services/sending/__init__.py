"""Submit transactions of clients, and report to their senders."""
