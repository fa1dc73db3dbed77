"""The methods of developers: `evm_`, `anvil_`, `hardhat_` and `tenderly_`, and state files at the start and the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.features.dev.checkpoint import MAX_CHECKPOINT_BYTES
from entresol.features.dev.control import DevControl
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
from entresol.features.dev.settings import DevConfig
from entresol.features.dev.state_dumper import StateDumper, load_at_start
from entresol.node.feature import ChainFeature, Feature, Phase
from entresol.node.metrics import MemoryUse
from entresol.node.opening.development_keys import development_operators
from entresol.node.parts.part import Closing
from entresol.node.settlement.rollup_parts import SettledView
from entresol.rpc.namespaces.rejected import DEVELOPMENT, rejecting
from entresol.rpc.types.fork_target import ForkControl

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from entresol.node.chain_plan import ChainPlan, OpenChain
    from entresol.node.feature import NodePlan, ServedChain
    from entresol.node.parts.part import Part
    from entresol.rpc.jsonrpc.method import Namespace


class DevelopedChain(ChainFeature):
    """The methods of developers on a chain, and the memory of its snapshots."""

    def __init__(self, dev: DevFeature, plan: ChainPlan) -> None:
        self._dev = dev
        self._plan = plan
        self._chain: ServedChain | None = None

    def methods(self, chain: ServedChain) -> Iterable[Namespace]:
        """Return RPC methods."""
        self._chain = chain
        if not self._plan.is_open:
            return ()
        methods = _methods(chain, self._dev.control)
        rollup = chain.rollup
        if rollup is None or isinstance(rollup, SettledView):
            # A member of a cluster, which may not produce.
            return methods
        return [*methods, AnvilSettlement(rollup), EntresolBaseToken(rollup)]

    def memory(self) -> Iterable[MemoryUse]:
        """Return the memory of snapshots."""
        assert self._chain is not None
        used = self._dev.control.checkpoint_bytes(self._chain.chain)
        return [MemoryUse("snapshots", used, MAX_CHECKPOINT_BYTES)]


class DevFeature(Feature):
    """The actions of developers on all chains of a node at once."""

    name = "dev"

    def __init__(self, node: NodePlan) -> None:
        super().__init__(node)
        self.control: DevControl
        self._dumper: StateDumper | None = None
        self._is_open = False

    def chain(self, plan: ChainPlan) -> ChainFeature:
        """Return what it adds to a chain."""
        return DevelopedChain(self, plan)

    def opened(self, chains: Sequence[OpenChain]) -> None:
        """Control the chains, and load what flags name into those that this process seals."""
        if self._is_open:
            for added in chains:
                self.control.add(added.chain)
            return
        config, l1 = self.node.config, self.node.l1
        settles = config.l1.l1 and not chains[0].plan.is_alone
        layer_twos = [opened.chain for opened in chains if opened is not l1]
        l1_chain = None if l1 is None else l1.chain
        self.control = control = DevControl(
            *(layer_twos if l1_chain is None else (l1_chain, *layer_twos)),
            settling=layer_twos if settles else (),
            foreign_l1=settles and l1 is None,
            operators=development_operators() if settles else (),
            settings=config.of(DevConfig),
        )
        self._is_open = True
        if not chains[0].plan.is_replica:
            if not self.node.is_reset:
                load_at_start(config, control.states, layer_twos[0], l1_chain)
            self._dumper = StateDumper(config, control.states, layer_twos[0], l1_chain)

    def parts(self) -> Iterable[tuple[Phase, Part]]:
        """Return what dumps the chains at intervals, and at the end."""
        if self._dumper is not None:
            yield Phase.BEFORE_BLOCKS, Closing(self._dumper.dump_last)
            yield Phase.SERVED, self._dumper

    def close(self) -> None:
        """Close what the chains have held to return to."""
        if self._is_open:
            self.control.close()


def _methods(chain: ServedChain, control: DevControl) -> list[Namespace]:
    """Return the namespaces that both layers have."""
    services, sequencer, keyring = chain.services, chain.sequencer, chain.keyring
    opened, dumps, rendered = chain.chain, services.dumps, services.rendered
    limit = control.settings.load_state_limit_bytes
    client_version = services.dialect.client_version
    forks = chain.find(ForkControl) or ForkControl()
    set_logging = chain.on_logging_enabled.notify
    tokens = TokenEdits(opened, TokenSlots(services.resolver, services.runner, services.threads))
    reverts = RevertRunner(services.threads, control.node_chains.uses)
    return [
        Evm(opened, sequencer, control.checkpoints, reverts),
        AccountEdits(opened),
        MineDetailed("evm", opened, sequencer, rendered),
        BalanceEdits("tenderly", opened),
        TenderlyTokens(tokens),
        TimeTravel("anvil", opened, control.checkpoints, reverts),
        HardhatMiningModes(opened, sequencer)
        if services.dialect.is_hardhat
        else MiningModes("evm", opened, sequencer),
        MiningModes("anvil", opened, sequencer),
        StateEdits("anvil", opened),
        AnvilBlockControl(opened),
        AnvilImpersonation(keyring),
        AnvilMine(opened, sequencer),
        MineDetailed("anvil", opened, sequencer, rendered),
        AnvilNode(opened, control.checkpoints, client_version, set_logging, forks),
        AnvilPool(opened.pool),
        AnvilReorg(opened, sequencer, control.node_chains, reverts, keyring, services.filler),
        AnvilReset(control.node_chains, reverts, forks),
        AnvilState(opened, control.states, reverts, dumps, limit),
        AnvilTokens(tokens),
        rejecting("anvil", DEVELOPMENT),
        EthUnsigned(services.submission, keyring, services.filler),
        HardhatStateEdits(opened),
        HardhatBlockControl(opened),
        HardhatImpersonation(keyring),
        HardhatMine(opened, sequencer),
        HardhatNode(opened, client_version, set_logging, forks),
        HardhatPool(opened.pool, opened.blocks),
        HardhatReset(control.node_chains, reverts, forks),
        HardhatState(opened, control.states, reverts, dumps, limit),
        HardhatTokens(tokens),
    ]
