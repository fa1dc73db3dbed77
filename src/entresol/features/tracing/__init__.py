"""Traces of calls and transactions: `debug_`, `trace_` and `ots_`."""

from entresol.node.declaration import DeclaredFeature

FEATURE = DeclaredFeature("tracing", load="entresol.features.tracing.feature:TracingFeature")
