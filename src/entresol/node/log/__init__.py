"""What a running node tells: a line a request, a block of lines a transaction, and its own troubles."""
