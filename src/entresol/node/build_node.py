"""Make the chains, the services and the parts of a node in one process."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec

from entresol.features.fork.feature import ForkFeature
from entresol.features.fork.opening.open_forks import OpenForks
from entresol.features.workers.feature import WorkersFeature
from entresol.node.api.dialect import Dialect
from entresol.node.chain_plan import ChainPlan
from entresol.node.chain_service import ServiceHooks
from entresol.node.dev_features import requested_accounts, serves_dev_methods
from entresol.node.feature import Phase
from entresol.node.loading import load_features
from entresol.node.node import Node
from entresol.node.node_parts import NodeParts, rollup_of
from entresol.node.opening.open_chain import open_chain
from entresol.node.parts.part import Closing
from entresol.node.startup.info import NodeInfo, info_of
from entresol.sequencer.local import LocalSequencer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.node.chain_plan import OpenChain
    from entresol.node.config.schema import NodeConfig
    from entresol.node.parts.part import Part
    from entresol.node.reopening import Reopening
    from entresol.node.settlement.settlement_layer import SettlementLayer
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
        node.is_reset = reopening is not None and reopening.is_open
        if is_alone:
            _open_alone(node)
        else:
            # An L1 alone does not need it.
            from entresol.node.opening.open_layers import open_layers  # noqa: PLC0415

            open_layers(node, remote)
        node.chains_opened()
        _serve(node)
        node.connect()
        _add_parts(node)
        return Node(node, partial(_info, node))


def _open_alone(node: NodeParts) -> None:
    config = node.config
    plan = ChainPlan(
        config=config,
        layer=1,
        is_alone=True,
        is_open=serves_dev_methods(config),
        dialect=Dialect.anvil(config.api),
    )
    opened = open_chain(node.plan(plan))
    node.opened(opened.chain)
    node.join(opened)


def _serve(node: NodeParts) -> None:
    """Serve all chains, whose names are on their lines of the log if there are several."""
    workers = next(feature for feature in node.features if isinstance(feature, WorkersFeature))
    for opened in node.all_open:
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
