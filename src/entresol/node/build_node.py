"""Make the chains, the services and the parts of a node in one process."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec

from entresol.features.fork.feature import ForkFeature
from entresol.features.fork.opening.open_forks import OpenForks
from entresol.features.workers.feature import WorkersFeature
from entresol.node.api.dialect import CACHED_SECONDS, Dialect
from entresol.node.base_tokens import development_base_tokens, warn_of_coarse_prices
from entresol.node.chain_plan import ChainPlan
from entresol.node.chain_service import ServiceHooks
from entresol.node.dev_features import requested_accounts, serves_dev_methods
from entresol.node.ecosystem_directory import EcosystemDirectory
from entresol.node.feature import Phase
from entresol.node.layer_two_configs import MAX_CHAINS, layer_two_configs
from entresol.node.loading import load_features
from entresol.node.node import Node
from entresol.node.node_parts import NodeParts, rollup_of
from entresol.node.opening.development_keys import operator_of
from entresol.node.opening.layer_two import chain_id_of
from entresol.node.opening.open_chain import embedded_settlement_layer, open_chain, settled
from entresol.node.parts.part import Closing
from entresol.node.settlement.settlement_layer import SettlementLayer, development_contracts
from entresol.node.startup.info import NodeInfo, info_of
from entresol.sequencer.local import LocalSequencer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from entresol.node.chain_plan import OpenChain
    from entresol.node.config.schema import NodeConfig
    from entresol.node.parts.part import Part
    from entresol.node.reopening import Reopening
    from entresol.terminal.log import NodeLog


def build_node(
    config: NodeConfig,
    log: NodeLog | None = None,
    remote: Sequence[SettlementLayer] = (),
    *,
    forks: OpenForks | None = None,
    reopening: Reopening | None = None,
    is_alone: bool = False,
) -> Node:
    """Return a node that serves L2s, and the development L1 that they settle on; with `remote`, each on that.

    `forks` are the layers that are copies; with `reopening`, clients can make them copies of something else.
    """
    forks = forks or OpenForks(config)
    made_forks = partial(ForkFeature, forks=forks, reopening=reopening)
    made_workers = partial(WorkersFeature, log=log)
    with NodeParts(config, log, [*load_features(), made_workers, made_forks]) as node:
        node.opened(forks)
        plans = [_plan_alone(config)] if is_alone else list(_plan_layer_twos(config, remote))
        _open_chains(node, plans, remote)
        node.chains_opened()
        _serve(node)
        node.connect()
        _add_parts(node)
        return Node(node, partial(_info, node))


def _plan_alone(config: NodeConfig) -> ChainPlan:
    return ChainPlan(
        config=config,
        layer=1,
        is_alone=True,
        is_open=serves_dev_methods(config),
        dialect=Dialect.anvil(config.api),
    )


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
        hidden=[operator_of(index).address for index in range(MAX_CHAINS)],
        extra_port=config.l1.l1_extra_port,
    )


def _open_chains(
    node: NodeParts, plans: Sequence[ChainPlan], remote: Sequence[SettlementLayer]
) -> None:
    """Open the chains, the development L1 after the L2s that its genesis knows, and let each L2 have its rollup."""
    config = node.config
    directory = node.opened(EcosystemDirectory.open(config, [plan.config for plan in plans]))
    chains: list[OpenChain] = []
    for plan in plans:
        chains.append(open_chain(node.plan(plan)))
        directory.opened(node.opened(chains[-1].chain))
    if config.l1.l1 and not remote and not plans[0].is_alone:
        node.l1 = open_chain(node.plan(_plan_layer_one(config)), chains)
        node.opened(node.l1.chain)
    directory.complete(
        [chain.chain for chain in chains], None if node.l1 is None else node.l1.chain
    )
    for plan, chain, *_ in chains:
        if plan.layer == 2:
            warn_of_coarse_prices(chain.rules.chain_id, plan.base_token, chain.next_base_fee())
    for index, opened in enumerate(chains):
        layer = remote[index] if remote else None
        if node.l1 is not None:
            layer = embedded_settlement_layer(node.l1, index)
        node.join(opened if layer is None else settled(opened, layer))


def _serve(node: NodeParts) -> None:
    """Serve all chains, whose names are on their lines of the log if there are several."""
    workers = next(feature for feature in node.features if isinstance(feature, WorkersFeature))
    for opened in (*node.chains, *([] if node.l1 is None else [node.l1])):
        if len(node.chains) > 1:
            opened.plan.name = str(opened.chain.rules.chain_id)
        speaks_for_all = opened is not node.l1 or opened.plan.name
        hooks = node.hooks(opened) if speaks_for_all else _own_hooks(opened)
        role = workers.role_of(opened)
        if role is not None:
            node.opened(role)
            if (rollup := rollup_of(opened)) is not None:
                rollup.sealed.add(role.publisher.batch_sealed)
        served = node.serve(opened, hooks, role)
        if opened is node.l1:
            node.served_l1 = served
        else:
            node.served.append(served)


def _own_hooks(opened: OpenChain) -> ServiceHooks:
    fork = opened.plan.fork
    return ServiceHooks(degraded=lambda: None if fork is None else fork.problem)


def _add_parts(node: NodeParts) -> None:
    # From the end: workers forward to the services, whose requests in progress need the sequencers.
    node.add_phase(Phase.BEFORE_BLOCKS)
    l1 = node.l1
    if l1 is not None:
        node.add(_sequencer(l1), chain=l1.plan.name)
    for opened in node.chains:
        node.add(_sequencer(opened), chain=opened.plan.name)
    for served in node.all_served:
        node.add(node.service(served), chain=served.plan.name)
    node.add_phase(Phase.SERVED)
    node.add(*(Closing(rollup.settlement_layer.l1.close) for rollup in node.rollups))
    for opened in node.chains:
        node.add(rollup_of(opened), chain=opened.plan.name)
    node.add_phase(Phase.LAST)


def _sequencer(opened: OpenChain) -> Part:
    assert isinstance(opened.sequencer, LocalSequencer)
    return opened.sequencer


def _info(node: NodeParts) -> NodeInfo:
    config = node.config
    found = NodeInfo.joined([info_of(node, served) for served in node.served])
    first = node.served[0]
    if first.plan.is_alone:
        # Anvil shows the base fee of the genesis.
        base_fee = first.chain.genesis.base_fee if first.plan.fork else config.l1_blocks.l1_base_fee
        accounts = requested_accounts(config.chain)
        found = msgspec.structs.replace(
            found, accounts=accounts, base_fee=base_fee, is_layer_one=True
        )
    return msgspec.structs.replace(found, rows=node.info_rows())
