"""The role of a node in its cluster: follow the log, take over when nobody produces, follow again; and its reports."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import uuid
from typing import TYPE_CHECKING, Any, Final, Literal

from entresol.background_task import BackgroundTask, cancel
from entresol.errors import EntresolError, StoreFailed
from entresol.features.cluster.errors import (
    ClusterFenced,
    ClusterUnreachable,
    DepositsNotNext,
    LogDamaged,
    LogTailLost,
    LogTruncated,
    OutcomeUnknown,
)
from entresol.features.cluster.log_follower import Follower
from entresol.features.cluster.postgres.connection import (
    BROKEN,
    ClusterDatabase,
    DatabaseDistance,
    Notifications,
)
from entresol.features.cluster.postgres.journal import LogWriter, read_pool
from entresol.features.cluster.postgres.lease import (
    HeldLease,
    LeaseState,
    give_up_lease,
    read_lease,
    take_lease,
)
from entresol.features.cluster.postgres.sequencer import (
    ClusterSequencer,
    ProducedRollup,
    Production,
)
from entresol.features.cluster.postgres.tables import CHANNEL, PostgresLog, check_tail
from entresol.listeners import Listeners
from entresol.replication.router import ReplicaState

if TYPE_CHECKING:
    from collections.abc import Callable

    import asyncpg

    from entresol.chain.chain import Chain
    from entresol.chain.journal import Journal
    from entresol.storage.log_entries import Entry

REPORT_SECONDS: Final = 1.0
MIN_SECONDS: Final = 0.1
"""However many clients name members that do not exist, the database is queried no more often."""
FORGET_AFTER: Final = "1 hour"
_REPORT: Final = """
insert into node (id, url, role, epoch, seq, head, seen)
values ($1, $2, $3, $4, $5, $6, clock_timestamp())
on conflict (id) do update set url = $2, role = $3, epoch = $4, seq = $5, head = $6, seen = clock_timestamp()
"""
_FORGET: Final = "delete from node where id = $1 or seen < clock_timestamp() - $2::text::interval"
_MEMBERS: Final = "select id from node"

log = logging.getLogger(__name__)

POLL_SECONDS: Final = 1.0
RETRY_SECONDS: Final = 0.2
MAX_RETRY_SECONDS: Final = 1.0
_NEEDS_OPERATOR: Final = (LogTailLost, LogTruncated, LogDamaged, DepositsNotNext)


class Membership:
    """The members of the cluster by their ids, which are random and only in its database.

    Remembers: the ids read last. Fails: never; a member that joined since is known a moment later.
    """

    def __init__(self) -> None:
        self._ids: frozenset[str] = frozenset()
        self._missed = asyncio.Event()

    def __contains__(self, member: object) -> bool:
        if member in self._ids:
            return True
        self._missed.set()
        return False

    def update(self, ids: frozenset[str]) -> None:
        """Take the ids that the database has."""
        self._ids = ids

    async def wait(self, seconds: float) -> None:
        """Sleep, but not beyond the lookup of an id that is not known."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._missed.wait()
        self._missed.clear()


class Reporter:
    """Reports a node to the database, and reads the members from it while the node produces.

    Remembers: the members. Persists: a row of the table `node`, until the node ends. Assumes: one event loop. Fails:
    never; it connects again.
    """

    def __init__(self, member: Member, database: ClusterDatabase, head: Callable[[], int]) -> None:
        self.members = Membership()
        self._member = member
        self._database = database
        self._head = head
        self._task = BackgroundTask("the report to the cluster", self._run)

    @property
    def problem(self) -> str | None:
        """Why nothing is reported; None while the database has the reports, or cannot be reached, as the member says."""
        return self._task.problem

    async def start(self) -> None:
        """Report from now on."""
        self._task.start()

    async def stop(self) -> None:
        """Report no more."""
        await self._task.stop()

    async def _run(self) -> None:
        while True:
            with contextlib.suppress(EntresolError, OSError):
                await self._session()
            await asyncio.sleep(REPORT_SECONDS)

    async def _session(self) -> None:
        member = self._member
        async with self._database.session() as connection:
            try:
                while True:
                    state = (member.role, member.epoch, member.seq, self._head())
                    await connection.execute(_REPORT, member.id, member.url, *state)
                    if member.production is not None:
                        rows = await connection.fetch(_MEMBERS)
                        self.members.update(frozenset(row["id"] for row in rows))
                    await asyncio.sleep(MIN_SECONDS)
                    await self.members.wait(REPORT_SECONDS - MIN_SECONDS)
            finally:
                # An error here would take the place of a cancellation.
                with contextlib.suppress(*BROKEN):
                    await connection.execute(_FORGET, member.id, FORGET_AFTER)


class Member:
    """Follows the log of a cluster, and produces while it holds the lease.

    Remembers: its role, the lease as it was last read, and its last problem. Persists: through follower and
    production. Assumes: nothing else changes the chain. Fails: never; it says its `problem`, and tries again.
    """

    def __init__(
        self,
        chain: Chain,
        sequencer: ClusterSequencer,
        database: ClusterDatabase,
        make_rollup: Callable[[Journal], ProducedRollup],
        *,
        takes_over: bool,
    ) -> None:
        self._chain = chain
        self._sequencer = sequencer
        self._database = database
        self._make_rollup = make_rollup
        self.applied: Listeners[[Entry]] = Listeners()
        """Called with each applied entry of the log."""
        self._takes_over = takes_over
        self._follower = Follower(chain, self._applied)
        self._notifications = Notifications()
        self._waiting: dict[asyncio.Future[None], int] = {}
        self._change = asyncio.Event()
        self.changed: Listeners[[]] = Listeners()
        """Notified when the lease was read again, or the role has changed."""
        self._caught_up_at = self._lease_read_at = time.monotonic()
        self._takes_over_from = 0.0
        self._task: asyncio.Task[None] | None = None
        self.id = uuid.uuid4().hex
        self.url = ""
        """The RPC address of this node, for others."""
        self.lease: LeaseState | None = None
        """The lease as it was read last."""
        self.production: Production | None = None
        """The production, while this node produces."""
        self.problem: str | None = None
        """Why the log is not followed at the moment."""
        self.is_stopped = False
        """Whether the log is not the one that this node has followed, so that only an operator can help."""

    # State

    @property
    def role(self) -> Literal["producer", "replica"]:
        """Whether this node produces."""
        return "replica" if self.production is None else "producer"

    @property
    def state(self) -> ReplicaState:
        """How much this node currently has of what the producer has."""
        return ReplicaState.MEMBER if self.production is None else ReplicaState.PRODUCING

    @property
    def epoch(self) -> int:
        """The epoch of the lease: of its own while it produces, else of the one read last."""
        if self.production is not None:
            return self.production.epoch
        return 0 if self.lease is None else self.lease.epoch

    @property
    def seq(self) -> int:
        """The last entry of the log that was applied."""
        return self._follower.applied.seq

    @property
    def producer_url(self) -> str | None:
        """The RPC address of another node that produces; None if nobody is known to."""
        lease = self.lease
        if lease is None or lease.is_free or lease.holder == self.id or not lease.url:
            return None
        return lease.url

    @property
    def lag_seconds(self) -> float:
        """How long ago this node had everything that the log had."""
        return 0.0 if self.production is not None else time.monotonic() - self._caught_up_at

    @property
    def lag_blocks(self) -> int:
        """How many blocks of the log are known not to be applied yet."""
        return 0 if self.lease is None else max(0, self.lease.head - self._chain.number)

    @property
    def distance(self) -> DatabaseDistance | None:
        """How far the database was when it was last written or read; None before that."""
        if self.production is not None:
            return self.production.distance
        return None if self.lease is None else self.lease.distance

    async def wait_for(self, seq: int) -> None:
        """Wait until an entry of the log is applied."""
        if self.seq >= seq:
            return
        applied: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[applied] = seq
        self._notifications.wake()
        try:
            await applied
        finally:
            del self._waiting[applied]

    async def wait_for_change(self) -> None:
        """Wait until the lease was read again, or the role has changed."""
        self._notifications.wake()
        await self._change.wait()

    # The loop

    async def start(self) -> None:
        """Start to follow, and to produce if nobody does."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop; a producer gives up its lease."""
        await cancel(self._task)

    async def _run(self) -> None:
        delay = RETRY_SECONDS
        while True:
            try:
                await self._session()
                delay = RETRY_SECONDS
                continue
            except ClusterUnreachable as error:
                self._report(error, logging.WARNING)
            except (EntresolError, OSError) as error:
                self._report(error, logging.ERROR)
            except Exception:
                log.exception("a node of the cluster failed; trying again")
                self.problem = "an internal error"
            await asyncio.sleep(delay)
            delay = min(2 * delay, MAX_RETRY_SECONDS)
            if isinstance(self._chain.failure, StoreFailed):
                self._chain.recover()

    async def _session(self) -> None:
        """Follow over one connection, until it breaks or production over it has ended."""
        connection = await self._database.connect()
        try:
            with self._database.translated():
                await check_tail(connection, self._follower.applied)
                await self._notifications.listen(connection, CHANNEL)
                while not await self._step(connection):
                    await self._notifications.wait(self._poll_seconds)
        finally:
            await self._database.close(connection)

    @property
    def _poll_seconds(self) -> float:
        return min(POLL_SECONDS, self._database.lease_seconds / 6)

    async def _step(self, connection: asyncpg.Connection[Any]) -> bool:
        """Apply what is new, and take over if nobody produces; return whether production has ended.

        The lease is read after each page: a log that grows while its pages are read has no end.
        """
        applied = await self._follower.apply_page(PostgresLog(connection))
        before = time.monotonic()
        lease = await read_lease(connection)
        self._observe(lease, before)
        if applied and self.seq < lease.end.seq:
            self._notifications.wake()
            return False
        is_ready = time.monotonic() >= self._takes_over_from and self._chain.failure is None
        may_take = self._takes_over and is_ready
        if not may_take or not (lease.is_free or lease.holder == self.id):
            return False
        if lease.distance.is_skewed:
            self.problem = f"{lease.distance.problem}, so it does not take over"
            return False
        seconds = self._database.lease_seconds
        held = await take_lease(connection, self.id, self.url, seconds)
        if held is None:
            return False
        failure: BaseException | None = None
        try:
            failure = await self._produce(connection, held)
        except BaseException as error:
            failure = error
            raise
        finally:
            self.production, self.lease = None, None
            self._announce_change()
            if not isinstance(failure, ClusterFenced | OutcomeUnknown):
                # Stopping, or something that this node cannot do now: another one may.
                self._takes_over_from = time.monotonic() + 2 * self._database.lease_seconds
                # An error here would take the place of a cancellation, which then never ends the loop.
                with contextlib.suppress(*BROKEN):
                    await give_up_lease(connection, held.epoch, self.id)
        log.warning("no longer producing blocks: %s", failure)
        return True

    def _observe(self, lease: LeaseState, read_at: float) -> None:
        """Take the lease as it was read then; this node has all that the log had then, or when it was read before."""
        if self.seq >= lease.end.seq:
            self._caught_up_at = read_at
        elif self.lease is not None and self.seq >= self.lease.end.seq:
            self._caught_up_at = self._lease_read_at
        self.lease, self._lease_read_at = lease, read_at
        self.problem, self.is_stopped = None, False
        self._announce_change()

    # Producing

    async def _produce(self, connection: asyncpg.Connection[Any], held: HeldLease) -> Exception:
        """Produce until the journal fails, and return what it failed with."""
        await self._follower.catch_up(PostgresLog(connection))
        if self._follower.applied != held.end:
            raise LogTailLost(self.seq, held.end.seq)
        seconds = self._database.lease_seconds
        rows = await read_pool(connection)
        writer = LogWriter(connection, held, seconds)
        production = Production(
            *(self._chain, self._sequencer, writer, rows),
            *(self._make_rollup, self._applied, seconds),
        )
        log.info("producing blocks since epoch %d, after block %d", held.epoch, self._chain.number)
        self.production = production
        self._announce_change()
        try:
            return await production.run()
        finally:
            self._caught_up_at = time.monotonic()

    def _applied(self, entry: Entry) -> None:
        self.applied.notify(entry)
        for applied, seq in self._waiting.items():
            if seq <= self.seq and not applied.done():
                applied.set_result(None)

    def _announce_change(self) -> None:
        change, self._change = self._change, asyncio.Event()
        change.set()
        self.changed.notify()

    def _report(self, error: Exception, level: int) -> None:
        if str(error) != self.problem:
            log.log(level, "%s", error)
        self.problem = str(error)
        self.is_stopped = isinstance(error, _NEEDS_OPERATOR)
