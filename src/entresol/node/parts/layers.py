"""The two layers of a node that serves both from one process: their services, and the way from L2 to L1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from entresol.features.explorer.explorer_routes import explorer_page
from entresol.features.fork.opening.fork_control import LayerForks
from entresol.features.fork.opening.open_forks import OpenForks
from entresol.l1.embedded import EmbeddedLayerOne
from entresol.l1.operator import OperatorKeys
from entresol.node.api.dialect import CACHED_SECONDS, Dialect
from entresol.node.chain_service import ChainService, ServiceHooks
from entresol.node.dev_features import funded_accounts, init_signers, open_keyring
from entresol.node.metrics import Sample, problem_samples
from entresol.node.opening.development_keys import OPERATOR, operator_of
from entresol.node.settlement.l2_components import L2Components
from entresol.node.settlement.rollup import Rollup
from entresol.node.settlement.rollup_metrics import rollup_metrics
from entresol.node.settlement.settlement_layer import SettlementLayer, development_contracts
from entresol.sequencer.local import LocalSequencer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from entresol.chain.chain import Chain
    from entresol.chain.fees import FeeModel
    from entresol.chain.keyring import Keyring
    from entresol.features.adding.methods import ChainControl
    from entresol.features.dev.control import DevControl
    from entresol.features.workers.supervisor import WorkerSupervisor
    from entresol.l1.deployment import SettlementContracts
    from entresol.node.builder import NodeBuilder
    from entresol.node.config.schema import NodeConfig
    from entresol.node.reopening import Reopening
    from entresol.primitives.base_token import BaseToken
    from entresol.primitives.values import Address


class LayerTwo(NamedTuple):
    """An L2 of a node: its settings, who seals its blocks, and what settles them."""

    config: NodeConfig
    chain: Chain
    fees: FeeModel
    base_token: BaseToken
    """The token that pays for gas, at the price of the settings."""
    sequencer: LocalSequencer
    rollup: Rollup | None = None

    @classmethod
    def of(
        cls,
        config: NodeConfig,
        opened: tuple[Chain, FeeModel],
        base_token: BaseToken,
        settlement_layer: SettlementLayer | None,
    ) -> LayerTwo:
        """Make what seals and settles the blocks of an open chain."""
        (chain, fees), rollup = opened, None
        sequencer = LocalSequencer(chain)
        if settlement_layer is not None:
            rollup = Rollup(chain, sequencer, settlement_layer, fees, config)
        return cls(config, chain, fees, base_token, sequencer, rollup)


class RelayPages(Protocol):
    """The relay of the node, for the pages of an L2."""

    def health(self, chain_id: int) -> dict[str, str | None]:
        """Return its problem, if it relays for this L2."""

    def metrics(self, chain_id: int) -> Iterator[Sample]:
        """Yield what it has done for this L2."""


def name_of(chain: Chain, count: int) -> str:
    """Return what log, health and metrics call a chain of a node with so many L2s: nothing if there is only one."""
    return "" if count == 1 else str(chain.rules.chain_id)


def serve_layer_two(  # noqa: PLR0913 - independent parts
    builder: NodeBuilder,
    layer_two: LayerTwo,
    control: DevControl,
    *,
    name: str = "",
    workers: WorkerSupervisor | None = None,
    chains: ChainControl | None = None,
    relay: RelayPages | None = None,
    forks: OpenForks | None = None,
    reopening: Reopening | None = None,
) -> ChainService:
    """Return the service of an L2, whose health is that of the whole node; `name` is on its lines of the log."""
    config, chain, fees, _, sequencer, rollup = layer_two
    api = builder.api(
        chain,
        sequencer,
        keyring=_keyring(config, chain, config.chain.init),
        control=control,
        layer_two=L2Components(fees, rollup),
        chains=chains,
        forks=None
        if reopening is None
        else LayerForks(reopening, "l2", chain, None if forks is None else forks.l2),
        remote=None if forks is None or forks.l2 is None else forks.l2.remote,
    )
    role = None
    if workers is not None:
        role = builder.opened(workers.share(chain, fees))
    if rollup is not None:
        rollup.sealed.add(api.batch_sealed)
        if role is not None:
            rollup.sealed.add(role.publisher.batch_sealed)

    relayed = (relay, chain.rules.chain_id)
    hooks = _hooks(builder, name, rollup, workers, forks or OpenForks(config), relayed)
    return builder.serve(
        api,
        config.server,
        layer=name,
        hooks=hooks,
        explorer=explorer_page(config, 2, chain, rollup, is_copy=_is_copy(forks)),
        role=role,
    )


def _hooks(
    builder: NodeBuilder,
    name: str,
    rollup: Rollup | None,
    workers: WorkerSupervisor | None,
    forks: OpenForks,
    relayed: tuple[RelayPages | None, int] = (None, 0),
) -> ServiceHooks:
    """Return what the pages of one chain say of the whole node; of several chains each is named."""
    relay, chain_id = relayed

    def health() -> dict[str, Any]:
        chains = builder.chain_problems()
        return {
            **({} if rollup is None else rollup.report()),
            **({} if relay is None else relay.health(chain_id)),
            **({} if workers is None else workers.health()),
            **forks.health(),
            **({"chains": chains} if chains else {}),
        }

    def metrics() -> Iterator[Sample]:
        yield from () if rollup is None else rollup_metrics(rollup)
        yield from () if relay is None else relay.metrics(chain_id)
        yield from forks.metrics()
        yield from problem_samples(builder.chain_problems())

    return ServiceHooks(
        health=health, degraded=builder.problem, metrics=metrics, forks=forks.page, chain=name
    )


def _own_hooks(forks: OpenForks) -> ServiceHooks:
    return ServiceHooks(
        health=forks.health, degraded=lambda: forks.problem, metrics=forks.metrics, forks=forks.page
    )


def _is_copy(forks: OpenForks | None) -> bool:
    return forks is not None and forks.l1 is not None


def serve_layer_one(  # noqa: PLR0913 - independent parts
    builder: NodeBuilder,
    chain: Chain,
    sequencer: LocalSequencer,
    control: DevControl,
    *,
    rollup: Rollup | None,
    hidden: Sequence[Address] = (OPERATOR.address,),
    name: str = "",
    workers: WorkerSupervisor | None = None,
    chains: ChainControl | None = None,
    forks: OpenForks | None = None,
    reopening: Reopening | None = None,
) -> ChainService:
    """Return the service of the development L1; transactions of the senders `hidden` are not logged.

    With a `name`, its pages speak for all chains of the node, as those of the L2s do.
    """
    config, l1 = builder.config, builder.config.l1
    fork = None if forks is None else forks.l1
    own = (forks or OpenForks(config)).of_layer_one
    held_seconds = CACHED_SECONDS if l1.l1_delay is None else 0.0
    api = builder.api(
        chain,
        sequencer,
        keyring=_keyring(config, chain, l1.l1_init, is_layer_one=True),
        control=control,
        dialect=Dialect.layer_one(config.api, held_seconds=held_seconds),
        chains=chains,
        forks=None if reopening is None else LayerForks(reopening, "l1", chain, fork),
        remote=None if fork is None else fork.remote,
    )
    return builder.serve(
        api,
        msgspec.structs.replace(config.server, port=l1.l1_port, ipc=l1.l1_ipc),
        layer="L1",
        # The settler logs the operator's transactions.
        hidden=hidden,
        hooks=_hooks(builder, name, None, workers, own) if name else _own_hooks(own),
        explorer=explorer_page(config, 1, chain, rollup, is_copy=_is_copy(forks)),
        role=None if workers is None else builder.opened(workers.share(chain)),
        is_layer_one=True,
        extra_port=l1.l1_extra_port,
    )


def embedded_settlement_layer(
    chain: Chain,
    sequencer: LocalSequencer,
    index: int = 0,
    contracts: SettlementContracts | None = None,
) -> SettlementLayer:
    """Return the development L1 as what one of its L2s settles on, with the contracts and the operator of that one.

    `contracts` are those of a chain that was added; by default they are those of its genesis.
    """
    return SettlementLayer(
        l1=EmbeddedLayerOne(chain, sequencer),
        l1_chain_id=chain.rules.chain_id,
        contracts=contracts or development_contracts(index),
        operator_keys=OperatorKeys.of(operator_of(index).secret),
        deployment_block=chain.ledger.first,
    )


def _keyring(
    config: NodeConfig, chain: Chain, init: str | None, *, is_layer_one: bool = False
) -> Keyring:
    funded = funded_accounts(config.chain, chain.genesis, is_layer_one=is_layer_one)
    return open_keyring(config, (*funded, *init_signers(init)))
