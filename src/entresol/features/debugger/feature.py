"""The debugger in a node: the sources that it knows, and the methods that need them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from entresol.features.debugger.explainer import SourceExplainer
from entresol.features.debugger.gas_reports import GasReports
from entresol.features.debugger.methods.contract_sources import (
    EntresolContracts,
    EntresolStackTraces,
    HardhatSources,
    KnownContracts,
)
from entresol.features.debugger.methods.executions import EntresolExecutions
from entresol.features.debugger.methods.gas_report import EntresolGasReport
from entresol.features.debugger.recorded_executions import Executions
from entresol.features.debugger.settings import DebuggerConfig
from entresol.features.debugger.sources.recording.recording import Recordings
from entresol.features.debugger.sources.registry import SourceRegistry
from entresol.features.debugger.stack_traces import StackTraces
from entresol.node.feature import ChainFeature, Feature

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol.node.chain_plan import ChainPlan
    from entresol.node.feature import NodePlan, ServedChain
    from entresol.rpc.jsonrpc.method import Namespace
    from entresol.terminal.explainer import Explainer


class DebuggedChain(ChainFeature):
    """The debugger of a chain: its methods, where developers may use them."""

    def __init__(self, sources: SourceRegistry, *, is_open: bool) -> None:
        self._sources = sources
        self._is_open = is_open

    def explains(self) -> Explainer:
        """Return what says in the log where in the sources something failed."""
        return SourceExplainer(self._sources)

    def methods(self, chain: ServedChain) -> Iterable[Namespace]:
        """Return RPC methods."""
        if not self._is_open:
            return ()
        traces, sources = chain.services.traces, self._sources
        return [
            EntresolStackTraces(StackTraces(traces, chain.services.runner, sources)),
            EntresolContracts(KnownContracts(traces, sources)),
            EntresolExecutions(Executions(traces, sources, Recordings())),
            EntresolGasReport(GasReports(traces, sources)),
            HardhatSources(sources),
        ]


class DebuggerFeature(Feature):
    """The debugger of a node, whose chains share the sources."""

    name = "debugger"

    def __init__(self, node: NodePlan) -> None:
        super().__init__(node)
        self._sources = SourceRegistry.of_paths(node.config.of(DebuggerConfig).sources)

    def continues(self, before: Self) -> None:
        """Keep the sources that clients have added."""
        self._sources.take_added(before._sources)

    def chain(self, plan: ChainPlan) -> ChainFeature:
        """Return what it adds to a chain."""
        return DebuggedChain(self._sources, is_open=plan.is_open)
