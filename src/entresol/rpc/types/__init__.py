"""Parameter types of RPC methods."""
