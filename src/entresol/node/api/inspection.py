"""The namespaces that inspect a chain: `debug_`, `trace_` and `ots_`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.features.tracing.methods.debug_raw import DebugRaw
from entresol.features.tracing.methods.debug_state import DebugRanges, DebugState
from entresol.features.tracing.methods.debug_traces import DebugCallTraces, DebugTraces
from entresol.features.tracing.methods.ots import OtsBlocks, OtsSearch, OtsTransactions
from entresol.features.tracing.methods.trace import TraceFrames, TraceOpcodeGas, TraceReplays
from entresol.rpc.services.address_search import AddressSearch
from entresol.rpc.services.rendered_chain import RenderedObjects

if TYPE_CHECKING:
    from entresol.node.api.services import ApiServices
    from entresol.rpc.jsonrpc.method import Namespace


def inspection_namespaces(services: ApiServices) -> list[Namespace]:
    """Return the namespaces that read blocks and states, and execute transactions again."""
    chain, rendered, limits = services.chain, services.rendered, services.limits
    resolver, runner = services.resolver, services.runner
    ledger, objects = chain.ledger, RenderedObjects(rendered)
    traces = services.traces
    return [
        DebugTraces(traces),
        DebugCallTraces(traces, runner),
        DebugRaw(resolver, chain.blocks, rendered, limits.answer_limit_bytes),
        DebugState(resolver, ledger),
        DebugRanges(resolver, ledger, limits.answer_limit_bytes),
        TraceFrames(traces),
        TraceOpcodeGas(traces),
        TraceReplays(traces, runner),
        OtsBlocks(ledger.store, resolver, objects),
        OtsTransactions(ledger, traces),
        OtsSearch(ledger, AddressSearch(ledger.store, traces), objects),
    ]
