"""A worker of a node: the same chains, on the stores of its producer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from entresol.chain.genesis.genesis import Genesis
from entresol.chain.genesis.stored_genesis import ExpectedGenesis
from entresol.dev.control import DevControl
from entresol.dev.keyring import Keyring
from entresol.node.builder import NodeBuilder
from entresol.node.chain_service import ServiceHooks
from entresol.node.explorer.explorer_routes import connect_layers
from entresol.node.open_chains import open_layer_one, open_layer_two, open_with_genesis
from entresol.node.settlement.l2_components import L2Components
from entresol.node.startup.info import NodeInfo
from entresol.node.workers.worker_role import FollowedRollup, Heartbeat, WorkerRole
from entresol.replication.router import ReplicaRouter
from entresol.replication.workers.clients import ClusterRequests
from entresol.replication.workers.messages import LAYER_ONE, LAYER_TWO, REMOTE_L1, WorkerCall
from entresol.sequencer.sequencer import SequencerElsewhere

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.chain.chain import Chain
    from entresol.chain.fees import FeeModel
    from entresol.node.chain_service import ChainService
    from entresol.node.node import Node
    from entresol.node.workers.worker_process import WorkerStart
    from entresol.replication.workers.channel import Channel
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
        chain, fees = _open_layer_two(start, roles[LAYER_TWO].store)
        chains = [builder.opened(chain)]
        if len(roles) > 1:
            layer_one = open_layer_one(config, (chain,), roles[LAYER_ONE].store)
            chains.append(builder.opened(layer_one))
        control = DevControl(
            *reversed(chains),
            settling=(chain,) if settles else (),
            foreign_l1=settles and len(chains) == 1,
        )
        builder.opened(control)

        # What clients reach.
        components = L2Components(fees, _rollup(start, chain))
        hooks = None if cluster is None else ServiceHooks(wrap=cluster.wrap)
        services = [
            _serve(
                builder, start, role, chains[layer], control, hooks, None if layer else components
            )
            for layer, role in enumerate(roles)
        ]
        connect_layers(
            services[:LAYER_ONE],
            services[LAYER_ONE] if len(services) > 1 else None,
            lambda body, client: channel.call(_REMOTE_REQUEST + body, client=client),
        )
        builder.add(Heartbeat(roles), *roles, *services)

        def info() -> NodeInfo:
            return NodeInfo.of(chain, config, Keyring(), services[LAYER_TWO].address, None)

        return WorkerNode(builder.build(*services, info=info), roles, cluster)


def _open_layer_two(start: WorkerStart, store: Store) -> tuple[Chain, FeeModel]:
    if start.cluster is None:
        return open_layer_two(start.config, start.l1_chain_id, start.contracts, store)
    expected = ExpectedGenesis(Genesis.parse(start.cluster.genesis))
    return open_with_genesis(start.config, expected, store=store)


def _rollup(start: WorkerStart, chain: Chain) -> FollowedRollup | None:
    if start.l1_chain_id is None or start.contracts is None:
        return None
    return FollowedRollup(chain, start.l1_chain_id, start.contracts)


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
    )
    role.attach(api)
    return builder.serve(
        api,
        msgspec.structs.replace(start.config.server, port=layer.port),
        layer="" if components else "L1",
        # The producer logs them.
        logs_transactions=False,
        hooks=hooks,
        explorer=layer.explorer,
        role=role,
    )
