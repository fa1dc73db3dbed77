"""The files of a chain: its data directory, and the RocksDB database in it."""
