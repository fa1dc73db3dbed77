"""Plan and open the L2s of a node, and the development L1 beneath them, and let each L2 have its rollup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.l1.embedded import EmbeddedLayerOne
from entresol.l1.operator import OperatorKeys
from entresol.node.api.dialect import CACHED_SECONDS, Dialect
from entresol.node.base_tokens import development_base_tokens, warn_of_coarse_prices
from entresol.node.chain_plan import ChainPlan
from entresol.node.dev_features import serves_dev_methods
from entresol.node.ecosystem_directory import EcosystemDirectory
from entresol.node.genesis_config import chain_id_of
from entresol.node.layer_two_configs import layer_two_configs
from entresol.node.opening.development_keys import development_operators, operator_of
from entresol.node.opening.open_chain import open_chain
from entresol.node.settlement.rollup import Rollup
from entresol.node.settlement.settlement_layer import SettlementLayer, development_contracts
from entresol.sequencer.local import LocalSequencer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from entresol.l1.deployment import SettlementContracts
    from entresol.node.chain_plan import OpenChain
    from entresol.node.config.schema import NodeConfig
    from entresol.node.node_parts import NodeParts


def open_layers(node: NodeParts, remote: Sequence[SettlementLayer]) -> None:
    """Open the L2s of a node, on the L1s of `remote`, or else before the development L1 whose genesis knows them."""
    config = node.config
    plans = list(_plan_layer_twos(config, remote))
    directory = node.opened(EcosystemDirectory.open(config, [plan.config for plan in plans]))
    chains: list[OpenChain] = []
    for plan in plans:
        chains.append(open_chain(node.plan(plan)))
        directory.opened(node.opened(chains[-1].chain))
    if config.l1.l1 and not remote:
        node.l1 = open_chain(node.plan(_plan_layer_one(config)), chains)
        node.opened(node.l1.chain)
    directory.complete(
        [chain.chain for chain in chains], None if node.l1 is None else node.l1.chain
    )
    for plan, chain, *_ in chains:
        warn_of_coarse_prices(chain.rules.chain_id, plan.base_token, chain.next_base_fee())
    for index, opened in enumerate(chains):
        layer = remote[index] if remote else None
        if node.l1 is not None:
            layer = embedded_settlement_layer(node.l1, index)
        node.join(opened if layer is None else settled(opened, layer))


def _plan_layer_twos(config: NodeConfig, remote: Sequence[SettlementLayer]) -> Iterator[ChainPlan]:
    configs = layer_two_configs(config)
    tokens = [layer.base_token for layer in remote] or development_base_tokens(configs)
    ids = [chain_id_of(settings.chain) for settings in configs]
    for index, (settings, token) in enumerate(zip(configs, tokens, strict=True)):
        plan = ChainPlan(
            config=settings, index=index, is_open=serves_dev_methods(config), base_token=token
        )
        if remote:
            plan.l1_chain_id, plan.contracts = remote[index].l1_chain_id, remote[index].contracts
        elif config.l1.l1:
            plan.l1_chain_id = config.l1.l1_chain_id
            plan.contracts = development_contracts(index)
            plan.neighbours = {other: tokens[at] for at, other in enumerate(ids) if at != index}
        yield plan


def _plan_layer_one(config: NodeConfig) -> ChainPlan:
    held_seconds = CACHED_SECONDS if config.l1.l1_delay is None else 0.0
    return ChainPlan(
        config=config,
        layer=1,
        is_open=serves_dev_methods(config),
        dialect=Dialect.layer_one(config.api, held_seconds=held_seconds),
        # The settler logs their transactions; those of chains that are added, too.
        hidden=development_operators(),
        extra_port=config.l1.l1_extra_port,
    )


def embedded_settlement_layer(
    layer_one: OpenChain, index: int = 0, contracts: SettlementContracts | None = None
) -> SettlementLayer:
    """Return the development L1 as what one of its L2s settles on, with the contracts and the operator of that one.

    `contracts` are those of a chain that was added; by default they are those of its genesis.
    """
    chain, sequencer = layer_one.chain, layer_one.sequencer
    assert isinstance(sequencer, LocalSequencer)
    return SettlementLayer(
        l1=EmbeddedLayerOne(chain, sequencer),
        l1_chain_id=chain.rules.chain_id,
        contracts=contracts or development_contracts(index),
        operator_keys=OperatorKeys.of(operator_of(index).secret),
        deployment_block=chain.ledger.first,
    )


def settled(opened: OpenChain, layer: SettlementLayer) -> OpenChain:
    """Return an L2 with the rollup that settles it on a layer."""
    assert opened.fees is not None
    plan, chain = opened.plan, opened.chain
    return opened._replace(rollup=Rollup(chain, opened.sequencer, layer, opened.fees, plan.config))
