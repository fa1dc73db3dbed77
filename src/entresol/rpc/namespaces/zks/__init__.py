"""The `zks_` namespace."""
