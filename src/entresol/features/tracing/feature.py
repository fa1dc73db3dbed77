"""Traces: the namespaces that read blocks and states in detail, and execute transactions again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.features.tracing.methods.debug_raw import DebugRaw
from entresol.features.tracing.methods.debug_state import DebugRanges, DebugState
from entresol.features.tracing.methods.debug_traces import DebugCallTraces, DebugTraces
from entresol.features.tracing.methods.ots import OtsBlocks, OtsSearch, OtsTransactions
from entresol.features.tracing.methods.trace import TraceFrames, TraceOpcodeGas, TraceReplays
from entresol.node.feature import ChainFeature, Feature
from entresol.rpc.services.address_search import AddressSearch
from entresol.rpc.services.rendered_chain import RenderedObjects

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol.node.chain_plan import ChainPlan
    from entresol.node.feature import ServedChain
    from entresol.rpc.jsonrpc.method import Namespace


class TracedChain(ChainFeature):
    """The methods `debug_`, `trace_` and `ots_` of a chain."""

    def methods(self, chain: ServedChain) -> Iterable[Namespace]:
        """Return RPC methods."""
        services = chain.services
        resolver, runner, traces = services.resolver, services.runner, services.traces
        ledger, objects = chain.chain.ledger, RenderedObjects(services.rendered)
        limit = services.limits.answer_limit_bytes
        return [
            DebugTraces(traces),
            DebugCallTraces(traces, runner),
            DebugRaw(resolver, chain.chain.blocks, services.rendered, limit),
            DebugState(resolver, ledger),
            DebugRanges(resolver, ledger, limit),
            TraceFrames(traces),
            TraceOpcodeGas(traces),
            TraceReplays(traces, runner),
            OtsBlocks(ledger.store, resolver, objects),
            OtsTransactions(ledger, traces),
            OtsSearch(ledger, AddressSearch(ledger.store, traces), objects),
        ]


class TracingFeature(Feature):
    """Traces on every chain of a node."""

    name = "tracing"

    def chain(self, plan: ChainPlan) -> ChainFeature:  # noqa: ARG002 - alike on all chains
        """Return what it adds to a chain."""
        return TracedChain()
