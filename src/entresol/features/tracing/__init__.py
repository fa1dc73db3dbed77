"""Traces of calls and transactions: `debug_`, `trace_` and `ots_`."""

from entresol.node.feature import DeclaredFeature

FEATURE = DeclaredFeature("tracing")
