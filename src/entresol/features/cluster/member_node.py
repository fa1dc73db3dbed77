"""A node of a cluster: it serves the shared chain, and produces blocks while it holds the lease."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from entresol.background_task import BackgroundTask
from entresol.chain.keyring import Keyring
from entresol.features.cluster.joining import Joined, join
from entresol.features.cluster.member_health import MemberHealth
from entresol.features.cluster.pending_feed import PendingFeed, PendingFollower
from entresol.features.cluster.postgres.member import Member, Reporter
from entresol.features.cluster.postgres.sequencer import ClusterSequencer
from entresol.features.cluster.settings import ClusterConfig
from entresol.features.cluster.upstream import PATH, ClusterHandler, HttpUpstream
from entresol.features.fork.config.resolving import planned_forks
from entresol.features.workers.supervisor import WorkerSupervisor
from entresol.features.workers.worker_process import WorkerCluster
from entresol.node.chain_plan import ChainPlan, OpenChain
from entresol.node.chain_service import ChainService, ServiceHooks
from entresol.node.dev_features import serves_dev_methods
from entresol.node.loading import load_features
from entresol.node.node import Node
from entresol.node.node_parts import NodeParts
from entresol.node.parts.part import Closing
from entresol.node.settlement.rollup import Rollup
from entresol.node.settlement.rollup_parts import SettledView
from entresol.node.startup.info import L1Info, NodeInfo
from entresol.replication.router import ReplicaRouter
from entresol.rollup.interop.interop_prover import InteropProver
from entresol.rollup.log_prover import LogProver
from entresol.rollup.open_transfers import OpenTransfers
from entresol.storage.log_entries import BatchEntry, Entry

if TYPE_CHECKING:
    from entresol.chain.journal import Journal
    from entresol.features.workers.producer_role import ProducerRole
    from entresol.node.config.schema import NodeConfig
    from entresol.node.feature import ServedChain
    from entresol.rollup.l1_prices import EtherPriceWatcher
    from entresol.terminal.log import NodeLog

log = logging.getLogger(__name__)

WILDCARD_HOSTS: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104  # compared, not bound


async def open_member(config: NodeConfig, log: NodeLog | None = None) -> Node:
    """Return a node that has joined its cluster."""
    planned_forks(config)  # Each is rejected.
    joined = await join(config)
    try:
        return member(joined, log)
    except BaseException:
        await joined.settlement_layer.l1.close()
        raise


def member(joined: Joined, log: NodeLog | None = None) -> Node:
    """Return a node of a cluster; developer methods, unlocked accounts and the development L1 do not exist here."""
    config, layer = joined.config, joined.settlement_layer
    settings = config.of(ClusterConfig)
    keyring = Keyring(locked="nodes of a cluster sign for no account")
    with NodeParts(config, log, load_features()) as node:
        # The chain, and who decides its blocks.
        chain = node.opened(joined.chain)
        sequencer = ClusterSequencer()

        price = joined.ether_price

        def make_rollup(journal: Journal) -> Rollup:
            rollup = Rollup(
                *(chain, sequencer, layer, joined.fees, config), journal=journal, ether_price=price
            )
            health.settles_by(rollup)
            return rollup

        role = Member(
            *(chain, sequencer, joined.database, make_rollup), takes_over=settings.takeover
        )
        joined.fees.repriced.add(lambda: _wake_later(role, sequencer))
        prover = LogProver(chain.blocks, chain.batches)
        settled = SettledView(
            layer,
            prover,
            InteropProver.of(chain, prover),
            OpenTransfers(chain, layer.l1, layer.contracts.nullifier),
        )
        plan = node.plan(
            ChainPlan(
                config=config,
                is_open=serves_dev_methods(config),
                keyring=keyring,
                base_token=layer.base_token,
                is_replica=True,
            )
        )
        opened = OpenChain(plan, chain, sequencer, joined.fees, settled)
        node.join(opened)
        node.chains_opened()
        workers = WorkerSupervisor.of(node, log, WorkerCluster(joined.genesis, PATH))
        shared = None if workers is None else node.opened(workers.share(chain))

        # Other nodes.
        pending = PendingFollower(role, chain.events)
        upstream = HttpUpstream(
            role, settings.forward_seconds, config.api.receipt_seconds, before=pending.ready
        )
        reporter = Reporter(role, joined.database, lambda: chain.number)
        feed = PendingFeed(chain.events, reporter.members, lambda: role.production is not None)

        # What clients reach.
        plan.router = ReplicaRouter(upstream, role)
        health = MemberHealth(role, settings.max_lag, workers, node.problem)
        hooks = ServiceHooks(
            health=health.fields,
            problem=health.problem,
            degraded=health.degraded,
            metrics=health.metrics,
            wrap=lambda handler: ClusterHandler(role, handler, feed.accept),
        )
        served = node.serve(opened, hooks, shared)
        node.served.append(served)
        node.connect()
        service = node.service(served)
        pending.serve(served.subscriptions)
        if shared is not None:
            pending.serve(shared)
        _announce(role, served, shared)

        # From the end: workers forward to the service, whose requests in progress are forwarded upstream.
        node.add(Closing(layer.l1.close), Closing(upstream.close), service)
        node.add(None if price is None else FollowedPrice(price))
        node.add(AdvertisedUrl(config, role, service), reporter, pending, role, workers)

        def info() -> NodeInfo:
            l1 = L1Info.of(config, layer)
            return NodeInfo.of(chain, config, keyring, service.address, l1, layer.base_token)

        return Node(node, info)


class FollowedPrice:
    """A part that follows what ether costs in the base token on each node, so that whoever takes over knows it."""

    problem = None
    """A member that produces reports it."""

    def __init__(self, price: EtherPriceWatcher) -> None:
        self._task = BackgroundTask("price of ether", price.run)

    async def start(self) -> None:
        """Follow it."""
        self._task.start()

    async def stop(self) -> None:
        """Follow it no more."""
        await self._task.stop()


class AdvertisedUrl:
    """A part that tells a member where other nodes reach it, once its service listens."""

    problem = None

    def __init__(self, config: NodeConfig, member: Member, service: ChainService) -> None:
        self._config = config
        self._member = member
        self._service = service

    async def start(self) -> None:
        """Set the address, and warn if only nodes on the same machine reach it."""
        cluster, host = self._config.of(ClusterConfig), self._config.server.hosts[0]
        self._member.url = cluster.advertise_url or f"http://{self._service.address}"
        if cluster.advertise_url is None and cluster.takeover and host in WILDCARD_HOSTS:
            log.warning(
                "nodes on other machines do not reach this one at %s: name an address by --advertise-url",
                self._service.address,
            )

    async def stop(self) -> None:
        """Do nothing: the address is that of the service."""


def _wake_later(member: Member, sequencer: ClusterSequencer) -> None:

    def wake() -> None:
        if member.production is not None:
            sequencer.wake()

    asyncio.get_running_loop().call_soon(wake)


def _announce(member: Member, api: ServedChain, shared: ProducerRole | None) -> None:
    """Let API and workers know what the member applies."""

    def on_applied(entry: Entry) -> None:
        publisher = None if shared is None else shared.publisher
        if isinstance(entry, BatchEntry):
            batch = entry.decoded()
            api.batch_sealed(batch)
            if publisher is not None:
                publisher.batch_sealed(batch)
        elif publisher is not None:
            publisher.sync()

    member.applied.add(on_applied)
