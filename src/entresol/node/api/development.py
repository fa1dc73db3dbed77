"""The developer methods of a chain: `anvil_`, `hardhat_`, `evm_`, `tenderly_`."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from entresol.features.debugger.sources.recording.recording import Recordings
from entresol.features.debugger.stack_traces import StackTraces
from entresol.features.dev.methods.block_control import AnvilBlockControl, HardhatBlockControl
from entresol.features.dev.methods.evm import Evm, TimeTravel
from entresol.features.dev.methods.impersonation import (
    AnvilImpersonation,
    EthUnsigned,
    HardhatImpersonation,
)
from entresol.features.dev.methods.mining import (
    AnvilMine,
    HardhatMine,
    HardhatMiningModes,
    MineDetailed,
    MiningModes,
)
from entresol.features.dev.methods.node_info import AnvilNode, HardhatNode
from entresol.features.dev.methods.pool import AnvilPool, HardhatPool
from entresol.features.dev.methods.reorg import AnvilReorg, AnvilReset, HardhatReset
from entresol.features.dev.methods.revert_runner import RevertRunner
from entresol.features.dev.methods.settlement import AnvilSettlement, EntresolBaseToken
from entresol.features.dev.methods.state import (
    AccountEdits,
    BalanceEdits,
    HardhatStateEdits,
    StateEdits,
)
from entresol.features.dev.methods.state_files import AnvilState, HardhatState
from entresol.features.dev.methods.tokens import (
    AnvilTokens,
    HardhatTokens,
    TenderlyTokens,
    TokenEdits,
    TokenSlots,
)
from entresol.node.settlement.l2_components import RollupParts, SettledView
from entresol.rpc.namespaces.rejected import DEVELOPMENT, rejecting
from entresol.rpc.types.fork_target import ForkControl, NoForks

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.features.debugger.sources.registry import SourceRegistry
    from entresol.features.dev.control import DevControl
    from entresol.node.api.services import ApiServices
    from entresol.rpc.jsonrpc.method import Namespace


def development_namespaces(
    services: ApiServices,
    control: DevControl,
    *,
    rollup: RollupParts | SettledView | None,
    set_logging: Callable[[bool], None],
    forks: ForkControl | None = None,
    sources: SourceRegistry,
) -> list[Namespace]:
    """Return the namespaces that both layers have, and on an L2 that runs its rollup those that act on L1."""
    namespaces = _both_layers(services, control, set_logging, forks or NoForks())
    namespaces += _of_sources(services, sources)
    if rollup is None or isinstance(rollup, SettledView):
        return namespaces
    return [*namespaces, AnvilSettlement(rollup), EntresolBaseToken(rollup)]


def _both_layers(
    services: ApiServices,
    control: DevControl,
    set_logging: Callable[[bool], None],
    forks: ForkControl,
) -> list[Namespace]:
    chain, keyring, dumps = services.chain, services.keyring, services.dumps
    sequencer = services.sequencer
    rendered, submission, filler = services.rendered, services.submission, services.filler
    limit = control.settings.load_state_limit_bytes
    client_version = services.dialect.client_version
    tokens = TokenEdits(chain, TokenSlots(services.resolver, services.runner, services.threads))
    reverts = RevertRunner(services.threads, control.node_chains.uses)
    return [
        Evm(chain, sequencer, control.checkpoints, reverts),
        AccountEdits(chain),
        MineDetailed("evm", chain, sequencer, rendered),
        BalanceEdits("tenderly", chain),
        TenderlyTokens(tokens),
        TimeTravel("anvil", chain, control.checkpoints, reverts),
        HardhatMiningModes(chain, sequencer)
        if services.dialect.is_hardhat
        else MiningModes("evm", chain, sequencer),
        MiningModes("anvil", chain, sequencer),
        StateEdits("anvil", chain),
        AnvilBlockControl(chain),
        AnvilImpersonation(keyring),
        AnvilMine(chain, sequencer),
        MineDetailed("anvil", chain, sequencer, rendered),
        AnvilNode(chain, control.checkpoints, client_version, set_logging, forks),
        AnvilPool(chain.pool),
        AnvilReorg(chain, sequencer, control.node_chains, reverts, keyring, filler),
        AnvilReset(control.node_chains, reverts, forks),
        AnvilState(chain, control.states, reverts, dumps, limit),
        AnvilTokens(tokens),
        rejecting("anvil", DEVELOPMENT),
        EthUnsigned(submission, keyring, filler),
        HardhatStateEdits(chain),
        HardhatBlockControl(chain),
        HardhatImpersonation(keyring),
        HardhatMine(chain, sequencer),
        HardhatNode(chain, client_version, set_logging, forks),
        HardhatPool(chain.pool, chain.blocks),
        HardhatReset(control.node_chains, reverts, forks),
        HardhatState(chain, control.states, reverts, dumps, limit),
        HardhatTokens(tokens),
    ]


def _of_sources(services: ApiServices, sources: SourceRegistry) -> list[Namespace]:
    traces = services.traces
    return [
        EntresolStackTraces(StackTraces(traces, services.runner, sources)),
        EntresolContracts(KnownContracts(traces, sources)),
        EntresolExecutions(Executions(traces, sources, Recordings())),
        EntresolGasReport(GasReports(traces, sources)),
        HardhatSources(sources),
    ]
