"""The `debug_` namespace: raw objects, states and traces."""
