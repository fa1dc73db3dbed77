"""`RemoteChain`: the chain behind a fork's URL, at the block that the fork stands on."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from entresol.cache_limits import CACHES
from entresol.errors import RemoteFailed
from entresol.features.fork.block_reads import BlockReads
from entresol.features.fork.errors import RemoteUnreachable
from entresol.features.fork.hardforks import Hardforks, marks_of_json
from entresol.features.fork.remote_use import RemoteRead, RemoteUse, UseReport, WaitReport
from entresol.features.fork.remote_values import DescribedBlock
from entresol.features.fork.starting import OpenedRemote, check_same, open_remote
from entresol.features.fork.table_feed import TableFeed
from entresol.features.fork.transport.client import ClientThread, ForkClient, Patience
from entresol.features.fork.transport.endpoints import Endpoints, host_of
from entresol.features.fork.verify.verified_reads import VerifiedReads
from entresol.primitives.anchor import Anchor
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from entresol._native import RemoteTable
    from entresol.features.fork.cache.fork_cache import ForkCache
    from entresol.features.fork.config.fork_settings import ForkSettings
    from entresol.features.fork.state_fetch import FetchedAccount

T = TypeVar("T")

OFFLINE_HOST: Final = "offline"


class RemoteChain:
    """A remote chain at its anchor. It has a thread and an event loop of its own; any thread may use it.

    Assumes: it is closed. Fails: with `RemoteFailed`, which names host and method, and has no secret.
    """

    def __init__(
        self,
        settings: ForkSettings,
        cache: ForkCache,
        thread: ClientThread,
        client: ForkClient | None,
        opened: OpenedRemote,
        use: RemoteUse,
    ) -> None:
        self.settings = settings
        self.anchor: Anchor = opened.anchor
        self.hardforks: Hardforks = opened.hardforks
        self.hardfork: str = self.hardfork_of(self.anchor.header.timestamp, self.anchor.json)
        self._thread = thread
        self._client = client
        self._cache = cache
        self._opened = opened
        self._use = use
        self._reads = BlockReads(client, cache, opened, use)
        self._verified: VerifiedReads | None = None
        if settings.verify and client is not None:
            self._verified = VerifiedReads(client, opened.past, self._reads.block_hashes)
        # Those of tables that were evicted are here, too, while somebody reads them.
        self._feeds: weakref.WeakSet[TableFeed] = weakref.WeakSet()
        self.table: RemoteTable = self._new_table(
            self.anchor.number, CACHES.remote_values, known=opened.accounts
        )
        self._past: BoundedMap[int, RemoteTable] = BoundedMap(CACHES.past_tables)
        self._lock = threading.Lock()

    @classmethod
    def open(
        cls, settings: ForkSettings, cache: ForkCache, ahead: Sequence[bytes] = ()
    ) -> RemoteChain:
        """Ask the remote, or the cache, for everything that a start needs; blocks until it is there.

        Accounts that are needed soon may be read `ahead`, which saves a round trip.
        """
        host = host_of(settings.urls[0]) if settings.urls else OFFLINE_HOST
        thread = ClientThread(f"fork {host}")
        try:
            use = RemoteUse()
            client, opened = thread.call(_started(settings, cache, host, use, ahead))
            return cls(settings, cache, thread, client, opened, use)
        except BaseException:
            thread.stop(_closed(None, cache))
            raise

    @property
    def cache_place(self) -> str:
        """Where the cache is."""
        return str(self._cache.place)

    @property
    def host(self) -> str:
        """Scheme, host and port of the remote."""
        return OFFLINE_HOST if self._client is None else self._client.host

    @property
    def waiting(self) -> WaitReport:
        """The requests that wait for the remote now, and how long."""
        return WaitReport(self.host) if self._client is None else self._client.waits.report()

    @property
    def is_offline(self) -> bool:
        """Whether no remote is ever asked."""
        return self._client is None

    @property
    def use(self) -> UseReport:
        """The use of the remote since the start."""
        return self._use.report()

    @property
    def last_reads(self) -> list[RemoteRead]:
        """The last values that something needed of it, the newest first."""
        return self._use.reads()

    @property
    def waiting_executions(self) -> int:
        """How many threads wait for values of it now."""
        with self._lock:
            return sum(feed.waiting for feed in self._feeds)

    @property
    def verifies(self) -> bool:
        """Whether what is read is proven, so that states are not to be read by methods of their own."""
        return self._verified is not None

    @property
    def block_above(self) -> Hash32 | None:
        """The block of the transaction that the settings name, if a start has found the anchor by it."""
        return self._opened.block_above

    def table_at(self, number: int) -> RemoteTable:
        """Return the state after an earlier block."""
        if number == self.anchor.number:
            return self.table
        with self._lock:
            table = self._past.touch(number)
            if table is None:
                table = self._new_table(number, CACHES.past_values, like=self.table)
                self._past.put(number, table)
            return table

    def hash_at(self, number: int) -> Hash32 | None:
        """Return the hash of a block that the remote may still replace; None for one that is final."""
        return self._opened.past.hash_at(number)

    async def read(
        self,
        method: str,
        params: Sequence[object],
        *,
        is_final: Callable[[msgspec.Raw], bool] | None = None,
        is_absent: Callable[[msgspec.Raw], bool] | None = None,
        at: int | None = None,
    ) -> msgspec.Raw:
        """Return the result of any method as it came; one that `is_final` may come from the cache, and goes there.

        One that follows from the block `at`, by its number, is taken only while the remote has that block still. If it
        `is_absent` there, it is null without a remote.
        """
        work = self._reads.read(
            method, params, is_final, self._verified, is_absent=is_absent, at=at
        )
        return (await self._there(work)).copy()

    async def past_block(self, block: int | Hash32) -> DescribedBlock | None:
        """Return a block at or below the anchor; None if the remote has none."""
        return await self._there(self._reads.past_block(block))

    def hardfork_of(self, timestamp: int, json: bytes) -> str:
        """Return the EVM fork that a block was executed by, which has this time and this JSON."""
        return self.hardforks.of(timestamp, marks_of_json(json))

    async def set_url(self, url: str) -> None:
        """Ask another URL from now on, if the same chain with the same anchor is behind it.

        Headers go there only if its host was given at the start.
        """
        await self._there(self._set_url(url))

    def close(self) -> None:
        """Fail what waits, and end the thread; the cache is closed, too."""
        self._thread.stop(_closed(self._client, self._cache))
        for feed in list(self._feeds):
            feed.close()

    def _new_table(
        self,
        number: int,
        max_entries: int,
        *,
        known: Mapping[bytes, FetchedAccount] | None = None,
        like: RemoteTable | None = None,
    ) -> RemoteTable:
        """Return a table that is fed; it has its feed, by what wakes it."""
        feed = TableFeed(number, self._reads, self._cache, self._thread, self._use)
        self._feeds.add(feed)
        table = feed.new_table(max_entries, self.settings.timeout, like)
        if known:
            self._thread.call(feed.put_known(known))
        return table

    async def _there(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            future = self._thread.begin(work)
        except RuntimeError as error:
            raise self._closed_error() from error
        try:
            return await asyncio.wrap_future(future)
        except RemoteFailed as error:
            self._use.failed(error)
            raise
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # Not who waits was cancelled, but what it waits for.
            raise self._closed_error() from None

    def _closed_error(self) -> RemoteUnreachable:
        return RemoteUnreachable(self.host, "anything", "the fork is closed")

    async def _set_url(self, url: str) -> None:
        if self._client is None:
            raise RemoteUnreachable(OFFLINE_HOST, "anything", "--offline asks no remote")
        other = self._client.at(url)
        try:
            await check_same(other, self.anchor)
        except BaseException:
            await other.close()
            raise
        await self._client.use(other)
        self._reads.forget_remote()


async def _started(
    settings: ForkSettings,
    cache: ForkCache,
    host: str,
    use: RemoteUse,
    ahead: Sequence[bytes],
) -> tuple[ForkClient | None, OpenedRemote]:
    client = None if settings.is_offline else make_client(settings, host, use)
    try:
        return client, await open_remote(settings, cache, client, ahead)
    except BaseException:
        if client is not None:
            await client.close()
        raise


def make_client(settings: ForkSettings, host: str, use: RemoteUse) -> ForkClient:
    """Return the client of a fork's settings."""
    endpoints = Endpoints(
        settings.urls,
        headers=settings.headers,
        timeout=settings.timeout,
        units_per_second=settings.compute_units_per_second,
        is_quoted=not settings.is_named_by_client,
    )
    patience = Patience(settings.retries, settings.timeout, settings.backoff)
    return ForkClient(endpoints, patience, batch_size=settings.batch_size, host=host, use=use)


async def _closed(client: ForkClient | None, cache: ForkCache) -> None:
    if client is not None:
        await client.close()
    cache.close()
