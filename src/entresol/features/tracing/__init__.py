"""Traces of calls and transactions: `debug_`, `trace_` and `ots_`."""
