"""A worker of a node: the same chains, on the stores of its producer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.chain.genesis.genesis import Genesis
from entresol.chain.genesis.stored_genesis import ExpectedGenesis
from entresol.chain.keyring import Keyring
from entresol.features.explorer.explorer_page import L1_PATH
from entresol.features.workers.channel import REMOTE_L1, Channel, WorkerCall
from entresol.features.workers.clients import ClusterRequests
from entresol.features.workers.worker_role import FollowedRollup, Heartbeat, WorkerRole
from entresol.node.base_tokens import development_base_tokens
from entresol.node.chain_plan import ChainPlan, OpenChain
from entresol.node.chain_service import ServiceHooks
from entresol.node.dev_features import serves_dev_methods
from entresol.node.genesis_config import chain_id_of
from entresol.node.layer_two_configs import layer_two_configs
from entresol.node.loading import load_features
from entresol.node.node import Node
from entresol.node.node_parts import NodeParts
from entresol.node.opening.layer_two import open_with_genesis
from entresol.node.opening.open_chain import open_chain, opened_chain
from entresol.node.startup.info import NodeInfo
from entresol.primitives.base_token import ETHER_TOKEN, BaseToken
from entresol.replication.router import ReplicaRouter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.chain.chain import Chain
    from entresol.features.workers.worker_process import WorkerStart
    from entresol.node.config.schema import NodeConfig
    from entresol.node.feature import ServedChain
    from entresol.terminal.log import NodeLog

_REMOTE_REQUEST: Final = bytes([WorkerCall.REQUEST, REMOTE_L1])


class WorkerNode(NamedTuple):
    """The node of a worker, and what its producer sends messages to."""

    node: Node
    roles: Sequence[WorkerRole]
    cluster: ClusterRequests | None


def worker(start: WorkerStart, channel: Channel, log: NodeLog) -> WorkerNode:
    """Return a node that serves what its producer seals, on the producer's ports, and forwards the rest."""
    config = start.config
    cluster = None if start.cluster is None else ClusterRequests(start.cluster.path, channel)
    with NodeParts(config, log, load_features()) as node:
        # The chains, which are the producer's.
        layers = range(len(start.layers))
        roles = [node.opened(WorkerRole(start, layer, channel)) for layer in layers]
        configs = layer_two_configs(config)
        tokens = _base_tokens(start, configs)
        for role, settings, token in zip(roles, configs, tokens, strict=False):
            plan = node.plan(_plan(start, role, settings, token))
            opened = _open_layer_two(start, plan)
            node.opened(opened.chain)
            rollup = _rollup(start, role.layer, opened.chain)
            node.join(opened._replace(rollup=rollup))
        if start.layers[-1].is_layer_one:
            plan = node.plan(_plan(start, roles[-1], config, ETHER_TOKEN))
            node.l1 = open_chain(plan, node.chains)
            node.opened(node.l1.chain)
        node.chains_opened()

        # What clients reach.
        hooks = None if cluster is None else ServiceHooks(wrap=cluster.wrap)
        for role, opened in zip(roles, node.chains, strict=False):
            node.served.append(_serve(node, role, opened, hooks))
        if node.l1 is not None:
            node.served_l1 = _serve(node, roles[-1], node.l1, hooks)
        node.connect()
        if node.l1 is None:
            for served in node.served:
                served.server.routes.add(
                    L1_PATH,
                    lambda body, client: channel.call(_REMOTE_REQUEST + body, client=client),
                )
        node.add(Heartbeat(roles), *roles, *node.services)

        def info() -> NodeInfo:
            first = node.served[0]
            return NodeInfo.of(first.chain, config, Keyring(), first.server.address, None)

        return WorkerNode(Node(node, info), roles, cluster)


def _plan(
    start: WorkerStart, role: WorkerRole, config: NodeConfig, base_token: BaseToken
) -> ChainPlan:
    layer = start.layers[role.layer]
    several = len(layer_two_configs(start.config)) > 1
    return ChainPlan(
        config=config,
        layer=1 if layer.is_layer_one else 2,
        name=str(chain_id_of(config.chain)) if several and not layer.is_layer_one else "",
        index=role.layer,
        is_open=serves_dev_methods(start.config),
        l1_chain_id=start.l1_chain_id,
        contracts=layer.contracts,
        base_token=base_token,
        store=role.store,
        notified=role.shipped,
        # The producer logs them.
        logs_transactions=False,
        port=layer.port,
        extra_port=layer.extra_port,
        shipped=layer.shipped,
        is_replica=True,
    )


def _open_layer_two(start: WorkerStart, plan: ChainPlan) -> OpenChain:
    if start.cluster is None:
        return open_chain(plan)
    expected = ExpectedGenesis(Genesis.parse(start.cluster.genesis))
    chain, fees = open_with_genesis(
        plan.config, expected, store=plan.store, base_token=plan.base_token
    )
    return opened_chain(plan, chain, fees)


def _base_tokens(start: WorkerStart, configs: Sequence[NodeConfig]) -> Sequence[BaseToken]:
    if start.layers[-1].is_layer_one:
        return development_base_tokens(configs)
    return [layer.base_token for layer in start.layers]


def _rollup(start: WorkerStart, layer: int, chain: Chain) -> FollowedRollup | None:
    contracts = start.layers[layer].contracts
    if start.l1_chain_id is None or contracts is None:
        return None
    return FollowedRollup(chain, start.l1_chain_id, contracts)


def _serve(
    node: NodeParts, role: WorkerRole, opened: OpenChain, hooks: ServiceHooks | None
) -> ServedChain:
    role.follow(opened.chain, opened.fees)
    opened.plan.router = ReplicaRouter(role.upstream, role.follower)
    served = node.serve(opened, hooks, role)
    role.attach(served)
    return served
