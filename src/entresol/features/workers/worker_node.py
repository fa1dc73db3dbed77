"""A worker of a node: the same chains, on the stores of its producer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from entresol.chain.genesis.genesis import Genesis
from entresol.chain.genesis.stored_genesis import ExpectedGenesis
from entresol.chain.keyring import Keyring
from entresol.features.adding.chain_adder import NoChains
from entresol.features.dev.control import DevControl
from entresol.features.explorer.explorer_routes import connect_layers
from entresol.features.workers.channel import REMOTE_L1, Channel, WorkerCall
from entresol.features.workers.clients import ClusterRequests
from entresol.features.workers.worker_role import FollowedRollup, Heartbeat, WorkerRole
from entresol.node.base_tokens import development_base_tokens
from entresol.node.builder import NodeBuilder
from entresol.node.chain_service import ChainService, ServiceHooks
from entresol.node.layer_two_configs import layer_two_configs
from entresol.node.opening.layer_one import open_layer_one
from entresol.node.opening.layer_two import open_layer_two, open_with_genesis
from entresol.node.parts.layers import name_of
from entresol.node.settlement.l2_components import L2Components
from entresol.node.startup.info import NodeInfo
from entresol.replication.router import ReplicaRouter
from entresol.sequencer.sequencer import SequencerElsewhere

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.chain.chain import Chain
    from entresol.chain.fees import FeeModel
    from entresol.features.workers.worker_process import WorkerStart
    from entresol.node.config.schema import NodeConfig
    from entresol.node.node import Node
    from entresol.primitives.base_token import BaseToken
    from entresol.storage.store import Store
    from entresol.terminal.log import NodeLog

_REMOTE_REQUEST: Final = bytes([WorkerCall.REQUEST, REMOTE_L1])


class WorkerNode(NamedTuple):
    """The node of a worker, and what its producer sends messages to."""

    node: Node
    roles: Sequence[WorkerRole]
    cluster: ClusterRequests | None


def worker(start: WorkerStart, channel: Channel, log: NodeLog) -> WorkerNode:
    """Return a node that serves what its producer seals, on the producer's ports, and forwards the rest."""
    config, settles = start.config, start.l1_chain_id is not None
    cluster = None if start.cluster is None else ClusterRequests(start.cluster.path, channel)
    with NodeBuilder(config, log) as builder:
        # The chains, which are the producer's.
        layers = range(len(start.layers))
        roles = [builder.opened(WorkerRole(start, layer, channel)) for layer in layers]
        configs = layer_two_configs(config)
        tokens = _base_tokens(start, configs)
        opened = [
            _open_layer_two(start, settings, layer, roles[layer].store, token)
            for layer, (settings, token) in enumerate(zip(configs, tokens, strict=True))
        ]
        layer_twos = [builder.opened(chain) for chain, _ in opened]
        layer_one = None
        if start.layers[-1].is_layer_one:
            layer_one = builder.opened(
                open_layer_one(config, layer_twos, roles[-1].store, base_tokens=tokens)
            )
        control = DevControl(
            *(layer_twos if layer_one is None else (layer_one, *layer_twos)),
            settling=layer_twos if settles else (),
            foreign_l1=settles and layer_one is None,
        )
        builder.opened(control)

        # What clients reach.
        hooks = None if cluster is None else ServiceHooks(wrap=cluster.wrap)
        services = []
        for role, (chain, fees) in zip(roles, opened, strict=False):
            components = L2Components(fees, _rollup(start, role.layer, chain))
            services.append(_serve(builder, start, role, chain, control, hooks, components))
        l1_service = None
        if layer_one is not None:
            l1_service = _serve(builder, start, roles[-1], layer_one, control, hooks, None)
        connect_layers(
            services,
            l1_service,
            lambda body, client: channel.call(_REMOTE_REQUEST + body, client=client),
        )
        builder.add(Heartbeat(roles), *roles, *services, l1_service)

        def info() -> NodeInfo:
            return NodeInfo.of(layer_twos[0], config, Keyring(), services[0].address, None)

        node = builder.build(services, info=info, layer_one=l1_service)
        return WorkerNode(node, roles, cluster)


def _open_layer_two(
    start: WorkerStart, config: NodeConfig, layer: int, store: Store, base_token: BaseToken
) -> tuple[Chain, FeeModel]:
    if start.cluster is None:
        contracts = start.layers[layer].contracts
        return open_layer_two(config, start.l1_chain_id, contracts, store, base_token=base_token)
    expected = ExpectedGenesis(Genesis.parse(start.cluster.genesis))
    return open_with_genesis(config, expected, store=store, base_token=base_token)


def _base_tokens(start: WorkerStart, configs: Sequence[NodeConfig]) -> Sequence[BaseToken]:
    if start.layers[-1].is_layer_one:
        return development_base_tokens(configs)
    return [layer.base_token for layer in start.layers]


def _rollup(start: WorkerStart, layer: int, chain: Chain) -> FollowedRollup | None:
    contracts = start.layers[layer].contracts
    if start.l1_chain_id is None or contracts is None:
        return None
    return FollowedRollup(chain, start.l1_chain_id, contracts)


def _serve(  # noqa: PLR0913, PLR0917 - independent parts
    builder: NodeBuilder,
    start: WorkerStart,
    role: WorkerRole,
    chain: Chain,
    control: DevControl,
    hooks: ServiceHooks | None,
    components: L2Components | None,
) -> ChainService:
    layer = start.layers[role.layer]
    role.follow(chain, None if components is None else components.fees)
    api = builder.api(
        chain,
        SequencerElsewhere(),
        keyring=Keyring(),
        control=control,
        layer_two=components,
        router=ReplicaRouter(role.upstream, role.follower),
        notified=role.shipped,
        # The producer says why.
        chains=NoChains("workers add no chains"),
    )
    role.attach(api)
    return builder.serve(
        api,
        msgspec.structs.replace(start.config.server, port=layer.port),
        layer=_name(start, chain, is_layer_one=layer.is_layer_one),
        # The producer logs them.
        logs_transactions=False,
        hooks=hooks,
        explorer=layer.explorer,
        role=role,
        extra_port=layer.extra_port,
    )


def _name(start: WorkerStart, chain: Chain, *, is_layer_one: bool) -> str:
    """Return what the log calls a chain: as the producer does."""
    return "L1" if is_layer_one else name_of(chain, len(layer_two_configs(start.config)))
