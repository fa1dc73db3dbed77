"""The chains that a worker serves, assembled on the stores of its producer."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from entresol.chain.genesis.genesis import Genesis
from entresol.chain.genesis.stored_genesis import ExpectedGenesis
from entresol.dev.control import DevControl
from entresol.dev.keyring import Keyring
from entresol.errors import LayerOneFailed, StoreDamaged
from entresol.node.api.api import Api
from entresol.node.chain_service import ChainService, ServiceHooks, ServiceRole
from entresol.node.chains import open_layer_one, open_layer_two, open_with_genesis
from entresol.node.dev_features import serves_dev_methods
from entresol.node.explorer.explorer_page import L1_PATH, L2_PATH
from entresol.node.settlement.l2_components import L2Components
from entresol.node.workers.watchdog import HEARTBEAT_SECONDS
from entresol.replication.route import ReplicaState
from entresol.replication.router import ReplicaRouter
from entresol.replication.shared_store import SecondaryStore, StoreFollower
from entresol.replication.upstream import ChannelUpstream
from entresol.replication.workers.cluster_requests import ClusterRequests
from entresol.replication.workers.messages import (
    LAYER_ONE,
    LAYER_TWO,
    REMOTE_L1,
    WorkerCall,
    WorkerMessage,
)
from entresol.replication.workers.shipped_events import ShippedEvents
from entresol.replication.workers.state_page import StatePage, Wanted
from entresol.rollup.proofs import LogProver
from entresol.sequencer.elsewhere import SequencerElsewhere
from entresol.server.server import PortSharing
from entresol.server.shared_page import SharedPage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from entresol.chain.chain import Chain
    from entresol.chain.fees.l2_fees import FeeModel
    from entresol.l1.deployment import SettlementContracts
    from entresol.node.log.log import NodeLog
    from entresol.node.workers.worker_start import WorkerStart
    from entresol.primitives.batches import SettlementStep
    from entresol.primitives.values import Hash32
    from entresol.replication.workers.channel import Channel
    from entresol.server.handler import ClientConnection, Handler, Page


class WorkerRole(ServiceRole):
    """A worker's part for one layer: it follows the producer, and forwards to it.

    Remembers: nothing of its own. Persists: nothing. Assumes: one event loop. Fails: as the channel does.
    """

    sharing = PortSharing.JOIN

    def __init__(self, start: WorkerStart, layer: int, channel: Channel) -> None:
        self._index = start.index
        self._layer = layer
        self._channel = channel
        self._page = StatePage(start.layers[layer].page)
        self.store = SecondaryStore.at(Path(start.layers[layer].path))
        self.shipped = ShippedEvents(self.store)
        self._current = ReplicaState.WORKER if start.cluster is None else ReplicaState.MEMBER_WORKER
        self._has_reported = False
        self.follower: StoreFollower
        self.upstream: ChannelUpstream
        self._api: Api

    def follow(self, chain: Chain, fees: FeeModel | None = None) -> None:
        """Follow the producer's chain from now on."""
        self.follower = StoreFollower(
            chain,
            self.store,
            self._page,
            current=self._current,
            on_stale=self._on_stale,
            on_batch=self._on_batch,
            on_l1_gas_price=(lambda _price: None) if fees is None else fees.observe,
        )
        self.upstream = ChannelUpstream(self._channel, self._layer, self.follower.catch_up)

    def attach(self, api: Api) -> Api:
        """Note the API of the layer, whose subscribers have to be notified."""
        self._api = api
        api.subscriptions.changed.add(self._on_subscriptions)
        return api

    def beat(self) -> None:
        """Count a heartbeat of this process."""
        self._page.beat(self._index)

    def report_damage(self) -> None:
        """Tell the producer once what could not be read: it is shown in the health of the node."""
        damage = self.store.failure
        if isinstance(damage, StoreDamaged) and not self._has_reported:
            self._has_reported = True
            payload = bytes([WorkerMessage.DAMAGED, self._layer]) + damage.detail.encode()
            self._channel.send(payload)

    # The service

    def serving(self, handler: Handler) -> Handler:
        """Catch up before each request."""
        return self.follower.serving(handler)

    def pages(self, service: ChainService) -> Mapping[str, Page]:  # noqa: ARG002 - the interface has it
        """Return the pages of the whole node, by the producer."""
        paths = ("/health", "/metrics")
        return {path: SharedPage(partial(self.upstream.page, path)) for path in paths}

    def _on_batch(self, first: int, last: int) -> None:
        self._api.blocks_batched(first, last)

    def _on_stale(self) -> None:
        # Cached results are served before it is decided what is forwarded.
        self._api.dispatcher.invalidate_cache()

    def _on_subscriptions(self) -> None:
        subscriptions = self._api.subscriptions
        wanted = Wanted.BLOCKS if len(subscriptions) else Wanted(0)
        if subscriptions.wants_transactions:
            wanted |= Wanted.TRANSACTIONS
        if wanted != self._page.wanted(self._index):
            self._page.want(self._index, wanted)
            # Before whatever else the client does here.
            self._channel.send(bytes([WorkerMessage.WANTED, self._layer]))


class FollowedRollup:
    """What a worker knows of the rollup, which runs in the producer."""

    def __init__(self, chain: Chain, l1_chain_id: int, contracts: SettlementContracts) -> None:
        self.l1_chain_id = l1_chain_id
        self.contracts = contracts
        self.prover = LogProver(chain.blocks, chain.batches)
        self.transfers = None

    async def settle(self, step: SettlementStep, batch: int) -> Hash32:
        """Raise: the producer settles."""
        raise LayerOneFailed(f"a worker does not settle: {step.name} of batch {batch}")


class WorkerNode:
    """The services of a worker.

    Remembers: nothing of its own. Persists: nothing. Assumes: one event loop. Fails: to start, with the error.
    """

    def __init__(self, start: WorkerStart, channel: Channel, log: NodeLog) -> None:
        self._start = start
        self._log = log
        self._roles = [WorkerRole(start, it, channel) for it in range(len(start.layers))]
        config, settles = start.config, start.l1_chain_id is not None
        cluster = start.cluster
        self._cluster = None if cluster is None else ClusterRequests(cluster.path, channel)
        store = self._roles[LAYER_TWO].store
        if cluster is None:
            chain, fees = open_layer_two(config, start.l1_chain_id, start.contracts, store)
        else:
            expected = ExpectedGenesis(Genesis.parse(cluster.genesis))
            chain, fees = open_with_genesis(config, expected, store=store)
        chains = [chain]
        if len(self._roles) > 1:
            chains.append(open_layer_one(config, chain, self._roles[LAYER_ONE].store))
        self._control = DevControl(
            *reversed(chains),
            settling=chain if settles else None,
            foreign_l1=settles and len(chains) == 1,
        )
        rollup = None
        if start.l1_chain_id is not None and start.contracts is not None:
            rollup = FollowedRollup(chain, start.l1_chain_id, start.contracts)
        components = L2Components(fees, rollup)
        self._services = [self._serve(LAYER_TWO, chain, components)]
        if len(chains) > 1:
            self._services.append(self._serve(LAYER_ONE, chains[LAYER_ONE]))
        self._connect_layers(channel)

    async def start(self) -> None:
        """Listen on the producer's ports."""
        self._beat()
        for role in self._roles:
            role.follower.catch_up()
        for service in self._services:
            await service.start()

    async def stop(self) -> None:
        """Let requests in progress finish, and stop listening."""
        for service in self._services:
            await service.stop()
        self._log.unfollow()
        for service in self._services:
            service.close()
        self._control.close()

    def push(self, payload: bytes) -> None:
        """Push a document of the producer to a client."""
        if self._cluster is not None:
            self._cluster.push(payload)

    def metrics(self, layer: int) -> str:
        """Return the metrics of this process."""
        return self._services[layer].process_metrics()

    def shipped(self, layer: int) -> ShippedEvents:
        """Return the events of the producer's chain, for subscribers."""
        return self._roles[layer].shipped

    def _beat(self) -> None:
        """Show the producer that the event loop runs, until this process ends."""
        self._roles[LAYER_TWO].beat()
        for role in self._roles:
            role.report_damage()
        asyncio.get_running_loop().call_later(HEARTBEAT_SECONDS, self._beat)

    def _connect_layers(self, channel: Channel) -> None:
        """Let the explorer of each layer reach the other one."""
        if len(self._services) > 1:
            layer_two, layer_one = self._services
            layer_two.routes.add(L1_PATH, layer_one.handler)
            layer_one.routes.add(L2_PATH, layer_two.handler)
            return

        def read_remote(body: bytes, connection: ClientConnection) -> Awaitable[bytes | None]:
            return channel.call(bytes([WorkerCall.REQUEST, REMOTE_L1]) + body, client=connection)

        self._services[LAYER_TWO].routes.add(L1_PATH, read_remote)

    def _serve(
        self, layer: int, chain: Chain, components: L2Components | None = None
    ) -> ChainService:
        config, role = self._start.config, self._roles[layer]
        role.follow(chain, None if components is None else components.fees)
        has_dev_methods = serves_dev_methods(config)

        def make_api(wake: Callable[[], None]) -> Api:
            api = Api(
                chain,
                SequencerElsewhere(),
                wake,
                keyring=Keyring(),
                config=config.api,
                dev_methods=has_dev_methods,
                limits=config.limits,
                control=self._control,
                layer_two=components,
                router=ReplicaRouter(role.upstream, role.follower),
                notified=role.shipped,
            )
            return role.attach(api)

        log = self._log.for_chain(
            "L1" if layer else "", is_public=not has_dev_methods, has_transactions=False
        )
        given = self._start.layers[layer]
        server = msgspec.structs.replace(config.server, port=given.port)
        hooks = None if self._cluster is None else ServiceHooks(wrap=self._cluster.wrap)
        return ChainService(
            chain, make_api, server, log=log, hooks=hooks, explorer=given.explorer, role=role
        )
