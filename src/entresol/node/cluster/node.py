"""A node of a cluster: it serves the shared chain, and produces blocks while it holds the lease."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, Self

from entresol.dev.keyring import Keyring
from entresol.errors import InvalidConfig, LayerOneFailed
from entresol.l1.urls import Endpoint, is_http_url
from entresol.node.api.api import Api
from entresol.node.chain_service import ChainService, ServiceHooks
from entresol.node.cluster.joining import Joined, join
from entresol.node.config.api import worker_count
from entresol.node.metrics import Sample
from entresol.node.settlement.l2_components import L2Components, SettledView
from entresol.node.settlement.rollup import Rollup
from entresol.node.startup.info import L1Info, NodeInfo
from entresol.node.workers.pool import WorkerPool
from entresol.node.workers.worker_start import WorkerCluster
from entresol.replication.http_upstream import PATH, ClusterHandler, HttpUpstream
from entresol.replication.pending_feed import PendingFeed, PendingFollower
from entresol.replication.postgres.member import Member
from entresol.replication.postgres.reporting import Reporter
from entresol.replication.postgres.sequencer import ClusterSequencer
from entresol.replication.router import ReplicaRouter
from entresol.rollup.open_transfers import OpenTransfers
from entresol.rollup.proofs import LogProver
from entresol.storage.replication.entries import BatchEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from entresol.chain.journal import Journal
    from entresol.node.config.schema import NodeConfig
    from entresol.node.log.log import NodeLog
    from entresol.storage.replication.entries import Entry

log = logging.getLogger(__name__)

WILDCARD_HOSTS: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104  # compared, not bound


class ClusterNode:
    """A node that serves the chain of a cluster.

    Developer methods, unlocked accounts and the development L1 do not exist here. Remembers: nothing of its own.
    Persists: the chain, as its member does. Assumes: one event loop, whose thread alone changes the chain. Fails: to
    start, with the error that says why; nothing is left open then.
    """

    def __init__(self, joined: Joined, log: NodeLog | None = None) -> None:
        self._config = config = joined.config
        self._log = log
        self._joined = joined
        self._rollup: Rollup | None = None
        processes = worker_count(config.api)
        silence = config.api.worker_silence_seconds
        self._workers = WorkerPool(processes - 1, log, silence) if processes > 1 else None
        self._role = None if self._workers is None else self._workers.share(joined.chain)
        self._sequencer = ClusterSequencer()
        self.member = Member(
            joined.chain,
            self._sequencer,
            joined.database,
            self._make_rollup,
            self._on_applied,
            takes_over=config.cluster.takeover,
        )
        prover = LogProver(joined.chain.blocks, joined.chain.batches)
        layer = joined.settlement_layer
        transfers = OpenTransfers(joined.chain, layer.l1, layer.contracts.nullifier)
        self._settled = SettledView(layer, prover, transfers)
        events = joined.chain.events
        self._pending = PendingFollower(self.member, events)
        self._upstream = HttpUpstream(
            self.member,
            config.cluster.forward_seconds,
            config.api.receipt_seconds,
            before=self._pending.ready,
        )
        self._reporter = Reporter(
            self.member, joined.database, lambda: self._epoch, lambda: joined.chain.number
        )
        feed = PendingFeed(
            events, self._reporter.members, lambda: self.member.production is not None
        )
        chain_log = None if log is None else log.for_chain(is_public=True)
        self.service = ChainService(
            joined.chain,
            self._make_api,
            config.server,
            log=chain_log,
            hooks=ServiceHooks(
                health=self._health,
                problem=self._problem,
                degraded=self._degraded,
                metrics=self._metrics,
                wrap=lambda handler: ClusterHandler(self.member, handler, feed.accept),
            ),
            role=self._role,
        )
        self._pending.serve(self.service.api.subscriptions)
        if self._role is not None:
            self._pending.serve(self._role)

    @classmethod
    async def open(cls, config: NodeConfig, log: NodeLog | None = None) -> Self:
        """Return a node that has joined its cluster."""
        check_flags(config)
        joined = await join(config)
        try:
            await _check_l1(joined)
            return cls(joined, log)
        except BaseException:
            joined.chain.close()
            await joined.settlement_layer.l1.close()
            raise

    async def start(self) -> None:
        """Start to serve, to follow and perhaps to produce."""
        try:
            await self.service.start()
        except BaseException:
            await self.stop()
            raise
        self.member.start(self._advertised_url())
        self._pending.start()
        self._reporter.start()
        if self._workers is not None:
            cluster = WorkerCluster(self._joined.genesis, PATH)
            await self._workers.start(self._config, [self.service], self._settled, cluster)

    def _advertised_url(self) -> str:
        """Return where other nodes reach this one, and warn if only those on the same machine do."""
        cluster, host = self._config.cluster, self._config.server.hosts[0]
        if cluster.advertise_url is not None:
            return cluster.advertise_url
        if cluster.takeover and host in WILDCARD_HOSTS:
            log.warning(
                "nodes on other machines do not reach this one at %s: name an address by --advertise-url",
                self.service.address,
            )
        return f"http://{self.service.address}"

    async def stop(self) -> None:
        """Give up the lease, let requests in progress finish, and close everything."""
        if self._workers is not None:
            # They forward requests in progress.
            await self._workers.stop(self._config.server.stop_seconds)
        await self.member.stop()
        await self._pending.stop()
        await self._reporter.stop()
        await self.service.stop()
        await self._upstream.close()
        if self._log is not None:
            self._log.unfollow()
        await self._joined.settlement_layer.l1.close()
        self.service.close()

    def info(self) -> NodeInfo:
        """Return what the banner and `--config-out` show."""
        layer = self._joined.settlement_layer
        url = self._config.l1.l1_url
        assert url is not None
        l1 = L1Info(
            chain_id=layer.l1_chain_id,
            endpoint=Endpoint(url),
            is_embedded=False,
            contracts=layer.contracts,
        )
        return NodeInfo.of(self._joined.chain, self._config, _keyring(), self.service.address, l1)

    # Parts

    def _make_api(self, wake: Callable[[], None]) -> Api:
        joined, config = self._joined, self._config
        return Api(
            joined.chain,
            self._sequencer,
            wake,
            keyring=_keyring(),
            config=config.api,
            dev_methods=False,
            limits=config.limits,
            layer_two=L2Components(joined.fees, self._settled),
            router=ReplicaRouter(self._upstream, self.member),
        )

    def _make_rollup(self, journal: Journal) -> Rollup:
        joined = self._joined
        self._rollup = Rollup(
            *(joined.chain, self._sequencer, joined.settlement_layer),
            *(joined.fees, joined.config),
            journal=journal,
        )
        return self._rollup

    def _on_applied(self, entry: Entry) -> None:
        publisher = None if self._role is None else self._role.publisher
        if isinstance(entry, BatchEntry):
            batch = entry.decoded()
            self.service.api.batch_sealed(batch)
            if publisher is not None:
                publisher.batch_sealed(batch)
        elif publisher is not None:
            publisher.sync()

    # State

    @property
    def _epoch(self) -> int:
        member = self.member
        if member.production is not None:
            return member.production.epoch
        return 0 if member.lease is None else member.lease.epoch

    def _problem(self) -> str | None:
        member, limit = self.member, self._config.cluster.max_lag
        if member.is_stopped:
            return member.problem
        if member.lag_seconds <= limit:
            return None
        behind = f"{member.lag_seconds:.1f} s and {member.lag_blocks} blocks behind the cluster"
        return behind if member.problem is None else f"{behind}: {member.problem}"

    def _degraded(self) -> str | None:
        distance, rollup = self.member.distance, self._rollup
        problem = None if distance is None else distance.problem
        if problem is not None or self.member.production is None or rollup is None:
            return problem
        return rollup.degraded()

    def _health(self) -> dict[str, Any]:
        member = self.member
        cluster = {
            "role": member.role,
            "epoch": self._epoch,
            "seq": member.seq,
            "lag": {"blocks": member.lag_blocks, "seconds": round(member.lag_seconds, 3)},
            "cluster": member.problem,
        }
        if member.distance is not None:
            skew, round_trip = member.distance
            cluster["database"] = {"skew": round(skew, 3), "seconds": round(round_trip, 3)}
        if self._workers is not None:
            cluster |= self._workers.health()
        is_producing = member.production is not None and self._rollup is not None
        return cluster | (self._rollup.health() if is_producing and self._rollup else {})

    def _metrics(self) -> Iterator[Sample]:
        member = self.member
        is_producer = member.production is not None
        yield Sample("cluster_producer", "Whether this node produces blocks.", is_producer)
        yield Sample("cluster_epoch", "Epoch of the lease.", self._epoch)
        yield Sample("cluster_seq", "Last entry of the log that was applied.", member.seq)
        yield Sample("cluster_lag_blocks", "Blocks behind the log.", member.lag_blocks)
        yield Sample(
            "cluster_lag_milliseconds",
            "Milliseconds behind the log.",
            int(member.lag_seconds * 1000),
        )
        if is_producer and self._rollup is not None:
            yield from self._rollup.metrics()


def check_flags(config: NodeConfig) -> None:
    """Reject flags that cannot be used in a cluster."""
    files = config.state_files
    rejected = {
        "--dev-methods": config.api.dev_methods,
        "--expose-unlocked-accounts": config.api.expose_unlocked_accounts,
        "--auto-impersonate": config.api.auto_impersonate,
        "--state": files.state,
        "--load-state": files.load_state,
        "--dump-state": files.dump_state,
        "--no-mining": not config.chain.mining,
    }
    for flag, is_set in rejected.items():
        if is_set:
            raise InvalidConfig(flag, "this cannot be combined with --cluster")
    url = config.cluster.advertise_url
    if url is not None and not is_http_url(url):
        raise InvalidConfig(
            "--advertise-url", f"{url!r} is no URL that begins with http:// or https://"
        )


async def _check_l1(joined: Joined) -> None:
    """Reject another L1; one that cannot be reached now is checked by what uses it."""
    layer = joined.settlement_layer
    try:
        found = await layer.l1.chain_id()
    except LayerOneFailed as error:
        log.warning("%s", error)
        return
    if found != layer.l1_chain_id:
        raise InvalidConfig(
            "--l1-url",
            f"its chain id is {found}, but the cluster settles on chain {layer.l1_chain_id}",
        )


def _keyring() -> Keyring:
    return Keyring(locked="nodes of a cluster sign for no account")
