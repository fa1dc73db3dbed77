"""The `ots_` namespace: what the block explorer Otterscan asks for."""
