"""The `ots_` namespace: what the block explorer Otterscan calls."""
