"""The `trace_` namespace: frames, state differences and programs, in the format of Parity."""
