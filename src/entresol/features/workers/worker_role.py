"""A worker's work for one layer: following the store of its producer, and forwarding to it."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from entresol.errors import LayerOneFailed, StoreDamaged
from entresol.features.workers.channel import LAYER_TWO, Channel, WorkerMessage
from entresol.features.workers.clients import ChannelUpstream
from entresol.features.workers.publisher import ShippedEvents
from entresol.features.workers.secondary_store import SecondaryStore, StoreFollower
from entresol.features.workers.state_page import StatePage, Wanted
from entresol.features.workers.watchdog import HEARTBEAT_SECONDS
from entresol.node.chain_service import ChainService, ServiceRole
from entresol.replication.router import ReplicaState
from entresol.rollup.interop.interop_prover import InteropProver
from entresol.rollup.log_prover import LogProver
from entresol.server.pages import SharedPage
from entresol.server.server import PortSharing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from entresol.chain.chain import Chain
    from entresol.chain.fees import FeeModel
    from entresol.features.workers.worker_process import WorkerStart
    from entresol.l1.deployment import SettlementContracts
    from entresol.node.feature import ServedChain
    from entresol.primitives.batches import SettlementStep
    from entresol.primitives.values import Hash32
    from entresol.server.handler import Handler, Page


class WorkerRole(ServiceRole):
    """A worker's part for one layer: it follows the producer, and forwards to it.

    Remembers: nothing of its own. Assumes: one event loop. Fails: as the channel does.
    """

    sharing = PortSharing.JOIN
    problem = None

    def __init__(self, start: WorkerStart, layer: int, channel: Channel) -> None:
        self._index = start.index
        self.layer = layer
        self._channel = channel
        self._page = StatePage(start.layers[layer].page)
        self.store = SecondaryStore.at(Path(start.layers[layer].path))
        self.shipped = ShippedEvents(self.store)
        self._current = ReplicaState.WORKER if start.cluster is None else ReplicaState.MEMBER_WORKER
        self._has_reported = False
        self.follower: StoreFollower
        self.upstream: ChannelUpstream
        self._api: ServedChain

    def follow(self, chain: Chain, fees: FeeModel | None = None) -> None:
        """Follow the producer's chain from now on."""
        self.follower = StoreFollower(
            chain,
            self.store,
            self._page,
            current=self._current,
            on_stale=self._on_stale,
            on_batch=self._on_batch,
            fees=fees,
        )
        self.upstream = ChannelUpstream(self._channel, self.layer, self.follower.catch_up)

    def attach(self, api: ServedChain) -> None:
        """Note the API of the layer, whose subscribers have to be notified."""
        self._api = api
        api.subscriptions.changed.add(self._on_subscriptions)

    async def start(self) -> None:
        """Have what the producer has before the service listens."""
        self.follower.catch_up()

    async def stop(self) -> None:
        """Do nothing: what it reads is closed with the chain."""

    def close(self) -> None:
        """Release the page of the producer."""
        self._page.close()

    def beat(self) -> None:
        """Count a heartbeat of this process."""
        self._page.beat(self._index)

    def report_damage(self) -> None:
        """Tell the producer once what could not be read: it is shown in the health of the node."""
        damage = self.store.failure
        if isinstance(damage, StoreDamaged) and not self._has_reported:
            self._has_reported = True
            payload = bytes([WorkerMessage.DAMAGED, self.layer]) + damage.detail.encode()
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
            self._channel.send(bytes([WorkerMessage.WANTED, self.layer]))


class Heartbeat:
    """A part that shows the producer that the event loop of this process runs.

    Assumes: one event loop.
    """

    problem = None

    def __init__(self, roles: Sequence[WorkerRole]) -> None:
        self._roles = roles
        self._next: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        """Beat from now on."""
        self._beat()

    async def stop(self) -> None:
        """Beat no more."""
        if self._next is not None:
            self._next.cancel()

    def _beat(self) -> None:
        self._roles[LAYER_TWO].beat()
        for role in self._roles:
            role.report_damage()
        self._next = asyncio.get_running_loop().call_later(HEARTBEAT_SECONDS, self._beat)


class FollowedRollup:
    """A worker's view of the rollup, which runs in the producer."""

    def __init__(self, chain: Chain, l1_chain_id: int, contracts: SettlementContracts) -> None:
        self.l1_chain_id = l1_chain_id
        self.contracts = contracts
        self.prover = LogProver(chain.blocks, chain.batches)
        self.interop_prover = InteropProver.of(chain, self.prover)
        self.transfers = None

    async def settle(self, step: SettlementStep, batch: int) -> Hash32:
        """Raise: the producer settles."""
        raise LayerOneFailed(f"a worker does not settle: {step.name} of batch {batch}")

    async def book(self, batch: int) -> Hash32:
        """Raise: the producer settles."""
        raise LayerOneFailed(f"a worker does not settle: the books of batch {batch}")

    async def set_ratio(self, tokens: Fraction) -> Hash32:
        """Raise: the producer has the keys."""
        raise LayerOneFailed(f"a worker has no key: {tokens} tokens for an ether")
