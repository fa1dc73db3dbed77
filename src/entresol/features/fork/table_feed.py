"""Fill the table of one remote block with what is wanted: from the cache, else from the remote."""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from entresol._native import RemoteTable, Snapshot
from entresol.errors import EntresolError, RemoteFailed
from entresol.errors.base import without_frames
from entresol.features.fork.cache.fork_database import CachedAccount
from entresol.features.fork.errors import RemoteUnreachable
from entresol.features.fork.remote_use import RemoteUse
from entresol.features.fork.state_fetch import FetchedAccount, StateKey

if TYPE_CHECKING:
    from entresol.features.fork.block_reads import BlockReads
    from entresol.features.fork.cache.fork_cache import ForkCache
    from entresol.features.fork.transport.client import ClientThread

logger = logging.getLogger(__name__)

COLLECT_SECONDS: Final = 0.001
"""How long more misses are waited for, so that they go in one request."""
SILENT_TIMEOUTS: Final = 2
"""After how many times of `--fork-timeout` without any value a wait ends, if the client has not said why before."""
TOTAL_TIMEOUTS: Final = 10
"""After how many times of it work ends that still waits for values, one after the other."""
MAX_TAKEN: Final = 4_096
MAX_FETCHES: Final = 16
"""How many such groups are fetched at the same time; what is wanted meanwhile stays in the table."""

WORD_BYTES: Final = 32
ACCOUNT_BYTES: Final = 40
"""Balance and nonce."""

TableKey: TypeAlias = tuple[Any, ...]


class RemoteState:
    """Knows nothing itself: everything is read from the table."""

    def __init__(self, remote: RemoteTable) -> None:
        self.remote = remote

    def account(self, address: bytes, /) -> Any:  # noqa: ARG002
        """Let the table be asked."""
        return NotImplemented

    def code(self, code_hash: bytes, /) -> bytes | None:  # noqa: ARG002
        """Let the table be asked."""
        return None

    def slot(self, address: bytes, slot: bytes, /) -> Any:  # noqa: ARG002
        """Let the table be asked."""
        return NotImplemented

    def block_hash(self, number: int, /) -> Any:  # noqa: ARG002
        """Let the table be asked."""
        return NotImplemented


def remote_snapshot(table: RemoteTable) -> Snapshot:
    """Return the state of one remote block."""
    return Snapshot(RemoteState(table))


class TableFeed:
    """Fetches what a `RemoteTable` wants, on the thread of the client.

    The table has its feed, by what wakes it, and not the other way round: so both go with the last user of the table.
    Fails: never; keys fail, each with an error that a client may see. What comes is put at once, piece by piece.
    """

    def __init__(
        self,
        number: int,
        source: BlockReads,
        cache: ForkCache,
        thread: ClientThread,
        use: RemoteUse | None = None,
    ) -> None:
        self.number = number
        self._use = use or RemoteUse()
        self._source = source
        self._cache = cache
        self._thread = thread
        self._fetches: set[asyncio.Task[None]] = set()
        self._is_collecting = False
        self._last_size = 0
        self._fed: weakref.ref[RemoteTable] | None = None

    def new_table(
        self, max_entries: int, timeout: float, like: RemoteTable | None = None
    ) -> RemoteTable:
        """Return the table that is fed from now on; `like` is another one of the same remote."""
        table = RemoteTable(
            self._wake,
            max_entries=max_entries,
            silence=SILENT_TIMEOUTS * timeout,
            total=TOTAL_TIMEOUTS * timeout,
            host=self._host,
            like=like,
        )
        self._fed = weakref.ref(table)
        return table

    async def put_known(self, accounts: Mapping[bytes, FetchedAccount]) -> None:
        """Put accounts that were read before there was a table."""
        table = self._table
        if table is not None:
            block = await self._source.hash_of(self.number)
            self._use.looked_up(0, len(accounts))
            _Sink(table, self._cache, block, set(), self._use).put_accounts(dict(accounts))

    def close(self) -> None:
        """Fail what is wanted: nobody fetches it any more."""
        error = self._closed_error()
        table = self._table
        while table is not None and (keys := table.take_wanted(MAX_TAKEN)):
            table.fail(keys, error)

    @property
    def waiting(self) -> int:
        """How many threads wait for values of the table now."""
        table = self._table
        return 0 if table is None else table.waiting

    @property
    def _table(self) -> RemoteTable | None:
        return None if self._fed is None else self._fed()

    def _host(self) -> str:
        return self._source.host

    def _wake(self) -> None:
        if not self._thread.soon(self._collect):
            self.close()

    def _collect(self) -> None:
        if self._is_collecting:
            return
        # What reads one value after the other would wait a millisecond for each in vain.
        if self._last_size == 1 and not self._fetches:
            self._take()
            return
        self._is_collecting = True
        asyncio.get_running_loop().call_later(COLLECT_SECONDS, self._take)

    def _take(self) -> None:
        self._is_collecting = False
        if self._thread.is_stopped:
            # A task that begins after all others were cancelled would never run.
            self.close()
            return
        table = self._table
        while table is not None and len(self._fetches) < MAX_FETCHES:
            keys = table.take_wanted(MAX_TAKEN)
            if not keys:
                return
            self._last_size = len(keys)
            task = asyncio.get_running_loop().create_task(self._fetch(table, keys))
            self._fetches.add(task)
            task.add_done_callback(partial(self._ended, table, keys))

    def _ended(
        self, table: RemoteTable, keys: Sequence[TableKey], task: asyncio.Task[None]
    ) -> None:
        self._fetches.discard(task)
        if not task.cancelled():
            self._take()
            return
        # One that was cancelled before it began has failed nothing itself.
        table.fail(list(keys), self._closed_error())

    def _closed_error(self) -> RemoteUnreachable:
        return RemoteUnreachable(self._source.host, "the state", "the fork is closed")

    async def _fetch(self, table: RemoteTable, keys: Sequence[TableKey]) -> None:
        """Fetch keys; all of them are put or failed in the end, whatever happens."""
        left = set(keys)
        try:
            await self._fetched(table, keys, left)
            if left:
                problem = "it responded to only a part"
                error = RemoteUnreachable(self._source.host, "the state", problem)
                table.fail(list(left), error)
        except EntresolError as error:
            self._use.failed(error)
            table.fail(list(left), without_frames(error))
        except Exception as error:
            logger.exception("reading the state of the remote failed")
            failure = RemoteFailed("reading the state of the remote failed; the log has more")
            failure.__cause__ = error
            table.fail(list(left), without_frames(failure))

    async def _fetched(
        self, table: RemoteTable, keys: Sequence[TableKey], left: set[TableKey]
    ) -> None:
        block = await self._source.hash_of(self.number)
        sink = _Sink(table, self._cache, block, left, self._use)
        sink.from_cache(keys)
        self._use.looked_up(len(keys) - len(left), len(left))
        numbers = [key[1] for key in left if key[0] == "hash"]
        state: list[StateKey] = [key for key in left if key[0] != "hash"]
        if numbers and state:
            await asyncio.gather(self._hashes(numbers, sink), self._state(state, sink))
        elif numbers:
            await self._hashes(numbers, sink)
        elif state:
            await self._state(state, sink)

    async def _state(self, keys: list[StateKey], sink: _Sink) -> None:
        try:
            fetch = await self._source.fetch(self.number)
        except RemoteFailed as error:
            sink.fail(keys, error)
            return
        if fetch is not None:
            await fetch.read(keys, sink)
            return
        for key in keys:
            sink.fail([key], sink.missing(key))

    async def _hashes(self, numbers: list[int], sink: _Sink) -> None:
        try:
            sink.put_hashes(await self._source.block_hashes(numbers))
        except RemoteFailed as error:
            sink.fail([("hash", number) for number in numbers], error)


class _Sink:
    """Puts values into table and cache, and counts off what is left."""

    def __init__(
        self,
        table: RemoteTable,
        cache: ForkCache,
        block: bytes,
        left: set[TableKey],
        use: RemoteUse,
    ) -> None:
        self._table = table
        self._use = use
        self._cache = cache
        self._block = block
        self._left = left

    def from_cache(self, keys: Sequence[TableKey]) -> None:
        """Put what the cache has."""
        accounts = [key[1] for key in keys if key[0] == "account"]
        slots = [(key[1], key[2]) for key in keys if key[0] == "slot"]
        if accounts and (known := self._cache.accounts(self._block, accounts)):
            self._accounts({address: FetchedAccount(*known[address]) for address in known})
        if slots and (cached := self._cache.slots(self._block, slots)):
            self._slots(cached)
        numbers = [key[1] for key in keys if key[0] == "hash"]
        if numbers:
            self._hashes(self._cache.hashes(numbers))

    def put_accounts(self, accounts: dict[bytes, FetchedAccount]) -> None:
        """Put accounts of the remote."""
        cached = {address: CachedAccount(*account) for address, account in accounts.items()}
        keys = [("account", address) for address in accounts]
        if self._is_cached(keys, lambda: self._cache.put_accounts(self._block, cached)):
            self._table.delivered()
            self._accounts(accounts)

    def put_slots(self, slots: dict[tuple[bytes, bytes], bytes]) -> None:
        """Put slots of the remote."""
        keys = [("slot", *key) for key in slots]
        if self._is_cached(keys, lambda: self._cache.put_slots(self._block, slots)):
            self._table.delivered()
            self._slots(slots)

    def put_hashes(self, hashes: dict[int, bytes]) -> None:
        """Put hashes of blocks of the remote."""
        keys = [("hash", number) for number in hashes]
        if self._is_cached(keys, lambda: self._cache.put_hashes(hashes)):
            self._table.delivered()
            self._hashes(hashes)

    def fail(self, keys: Sequence[TableKey], error: EntresolError) -> None:
        """Let keys fail; the table keeps the error, and so without the response that its frames have."""
        self._left.difference_update(keys)
        self._use.failed(error)
        self._use.read(((key[0], _shown(key), 0) for key in keys), is_kept=False)
        self._table.fail(list(keys), without_frames(error))

    def missing(self, key: TableKey) -> EntresolError:
        """Return the error of a key that is not in the cache of a fork without a remote."""
        return self._cache.missing(key[0], self._block, *key[1:])

    def _is_cached(self, keys: Sequence[TableKey], put: Callable[[], None]) -> bool:
        """Put values into the cache; they fail if it has others, which is what a remote looks like that has changed."""
        try:
            put()
        except EntresolError as error:
            self.fail(keys, error)
            return False
        return True

    def _accounts(self, accounts: dict[bytes, FetchedAccount]) -> None:
        self._left.difference_update(("account", address) for address in accounts)
        named = [(f"0x{address.hex()}", account.code) for address, account in accounts.items()]
        # Listed first: who waits for a value finds it in the list.
        self._use.read(("account", address, ACCOUNT_BYTES) for address, _ in named)
        self._use.read(("code", address, len(code)) for address, code in named if code)
        self._table.put_accounts([(address, *account) for address, account in accounts.items()])

    def _slots(self, slots: dict[tuple[bytes, bytes], bytes]) -> None:
        self._left.difference_update(("slot", *key) for key in slots)
        self._use.read(("slot", _shown(("slot", *key)), WORD_BYTES) for key in slots)
        self._table.put_slots([(*key, value) for key, value in slots.items()])

    def _hashes(self, hashes: dict[int, bytes]) -> None:
        self._left.difference_update(("hash", number) for number in hashes)
        self._use.read(("hash", str(number), WORD_BYTES) for number in hashes)
        self._table.put_hashes(list(hashes.items()))


def _shown(key: TableKey) -> str:
    if key[0] == "hash":
        return str(key[1])
    return "/".join(f"0x{part.hex()}" for part in key[1:])
