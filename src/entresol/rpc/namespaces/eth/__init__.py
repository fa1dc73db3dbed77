"""The `eth_` namespace."""
