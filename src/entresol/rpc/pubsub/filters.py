"""Filters: questions that a client asks again and again, to hear only what is new."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeVar

from entresol.chain.events import BlocksReverted, TransactionPending
from entresol.errors import FilterNotFound, TooManyResults, UnknownBlock
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.values import Hash32, Quantity
from entresol.rpc.jsonrpc.cooperative import cooperatively
from entresol.rpc.jsonrpc.offload import POLICY
from entresol.rpc.pubsub.event_log import PendingHashes, Reorg, ReorgLog
from entresol.rpc.types.log_filter import (
    Head,
    LogFilter,
    LogLimits,
    LogSearch,
    LogSource,
    Span,
)

if TYPE_CHECKING:
    from entresol.chain.events import ChainEvents
    from entresol.rpc.cache.block_logs import BlockLogs

CAPACITY: Final = 10_000
_Found = TypeVar("_Found", bound=list[bytes] | None)


class BlockNumbers(Protocol):
    """Blocks by their number."""

    def block_hash(self, number: int) -> Hash32 | None:
        """Return the hash of a block."""


Changes: TypeAlias = list[bytes] | list[Hash32]


class _LogCursor:
    """The client knows the logs of all blocks before `next`, as of the retreat at `retreats`."""

    def __init__(self, wanted: LogFilter, span: Span, after: int, retreats: int) -> None:
        self.wanted = wanted
        self.next = after
        self.retreats = retreats
        self.is_lost = False
        # A block or a range that was given by numbers bounds what is new, and also what is gone.
        self._first, self._last = 0, wanted.last if isinstance(wanted.last, int) else None
        if isinstance(wanted.first, int):
            self._first = wanted.first
        if wanted.block_hash is not None:
            self._first, self._last = span.first, span.last

    def gone(self, retreats: list[Reorg]) -> list[BlockLogs]:
        """Return the blocks that the client knows and that are gone, and stand before them."""
        found: list[BlockLogs] = []
        for retreat in retreats:
            known = self.next - 1 if self._last is None else min(self.next - 1, self._last)
            blocks = retreat.between(self._first, known)
            found += [it for it in blocks if self.wanted.block_hash in {None, it.hash}]
            self.next = min(self.next, retreat.head + 1)
        self.retreats += len(retreats)
        return found

    def come(self, source: LogSource, head: Head, results: int) -> LogSearch:
        """Return the search for the logs that are new, and stand behind them."""
        last = self.wanted.last_block(head) if self._last is None else min(self._last, head.number)
        span = Span(max(self._first, self.next), last)
        self.next = max(self.next, last + 1)
        limits = LogLimits(results=results)
        return LogSearch(source, self.wanted.query, span, limits, self.wanted.block_hash)


class LogChanges:
    """What is new for a filter for logs: what is gone is known, what came is still to be read."""

    def __init__(self, cursor: _LogCursor, gone: list[BlockLogs], came: LogSearch) -> None:
        self._cursor = cursor
        self._gone = gone
        self._came = came

    def run(self) -> list[bytes]:
        """Return the changes as JSON; any thread may. If they are too many, the filter is lost."""
        came = self._read(self._came.run)
        return list(cooperatively(self._matches_gone())) + came

    def at_once(self) -> list[bytes] | None:
        """Return the changes if they are few, so that an event loop may write them."""
        if sum(map(len, self._gone)) > POLICY.logs:
            return None
        came = self._read(self._came.at_once)
        return None if came is None else [*self._matches_gone(), *came]

    def _matches_gone(self) -> Iterator[bytes]:
        for logs in self._gone:
            yield from logs.matching(self._cursor.wanted.query)

    def _read(self, search: Callable[[], _Found]) -> _Found | list[bytes]:
        try:
            return search()
        except UnknownBlock:
            # The block that the filter names is gone, and another has its number.
            return []
        except TooManyResults as error:
            self._cursor.is_lost = True
            raise FilterNotFound from error


class _BlockCursor:
    """The client knows all blocks before `next`, as of the retreat at `retreats`."""

    def __init__(self, after: int, retreats: int) -> None:
        self.next = after
        self.retreats = retreats


class _PendingCursor:
    """The client knows the transactions that came before `arrivals`."""

    def __init__(self, arrivals: int) -> None:
        self.arrivals = arrivals


_Cursor: TypeAlias = _LogCursor | _BlockCursor | _PendingCursor


class Filters:
    """The filters of all clients, by number.

    Filters hold no results but the place up to which they were asked, so one that nobody asks costs nothing
    when a block comes. Of transactions that nobody asked for, the oldest are dropped when too many have
    come; a filter that did not ask for so long that removed logs were dropped is not found any more.

    Remembers: where each filter stands, in the order of their use; the latest transaction hashes; logs
    that are gone. Persists: nothing. Assumes: it is called on the thread that changes the chain. Fails:
    with `FilterNotFound`; the filter used longest ago gives way when there are too many.
    """

    def __init__(
        self,
        head: Head,
        blocks: BlockNumbers,
        source: LogSource,
        chain_events: ChainEvents,
        *,
        capacity: int = CAPACITY,
        limits: LogLimits | None = None,
    ) -> None:
        self._head = head
        self._blocks = blocks
        self._source = source
        self._limits = limits or LogLimits()
        self._cursors: BoundedMap[int, _Cursor] = BoundedMap(capacity)
        self._arrivals = PendingHashes()
        self._retreats = ReorgLog()
        self._chain_events = chain_events
        self._events = chain_events.subscribe(wake=self._listen)

    def __len__(self) -> int:
        return len(self._cursors)

    def close(self) -> None:
        """Stop listening to the chain."""
        self._chain_events.unsubscribe(self._events)

    def new_log_filter(self, wanted: LogFilter) -> Quantity:
        """Make a filter for logs of blocks to come, and return its id."""
        self._limits.check(wanted.query)
        span = wanted.resolve(self._head, self._source)
        return self._install(_LogCursor(wanted, span, self._head.number + 1, self._retreats.end))

    def new_block_filter(self) -> Quantity:
        """Make a filter for the hashes of blocks to come, and return its id."""
        return self._install(_BlockCursor(self._head.number + 1, self._retreats.end))

    def new_pending_filter(self) -> Quantity:
        """Make a filter for the hashes of transactions to come, and return its id."""
        return self._install(_PendingCursor(self._arrivals.end))

    def uninstall(self, filter_id: int) -> bool:
        """Remove a filter, and say whether there was one."""
        found = self._take(filter_id) is not None
        if not self._cursors:
            self._retreats.forget()
        return found

    def changes(self, filter_id: int) -> Changes:
        """Return what is new since the filter was made or last asked.

        If that is more than one answer has, hashes go on with the next answer; a filter for logs is removed.
        """
        news = self.look(filter_id)
        return news.run() if isinstance(news, LogChanges) else news

    def look(self, filter_id: int) -> LogChanges | list[Hash32]:
        """Note that the filter was asked, and return what is new; logs can be read elsewhere."""
        match self._use(filter_id):
            case _LogCursor() as cursor:
                gone = cursor.gone(self._missed(filter_id, cursor.retreats))
                came = cursor.come(self._source, self._head, self._limits.results)
                return LogChanges(cursor, gone, came)
            case _BlockCursor() as cursor:
                return self._new_blocks(filter_id, cursor)
            case _PendingCursor() as cursor:
                return self._new_transactions(cursor)

    def log_filter(self, filter_id: int) -> LogFilter:
        """Return what a filter for logs asks for."""
        cursor = self._use(filter_id)
        if not isinstance(cursor, _LogCursor):
            raise FilterNotFound
        return cursor.wanted

    def logs(self, filter_id: int) -> LogSearch:
        """Return the search for all logs of a filter's own range; its changes stay where they are."""
        return LogSearch.of(self._source, self._head, self.log_filter(filter_id), self._limits)

    def _new_blocks(self, filter_id: int, cursor: _BlockCursor) -> list[Hash32]:
        missed = self._missed(filter_id, cursor.retreats)
        cursor.retreats += len(missed)
        first = min([cursor.next, *(retreat.head + 1 for retreat in missed)])
        cursor.next = min(self._head.number + 1, first + self._limits.results)
        hashes = map(self._blocks.block_hash, range(first, cursor.next))
        return [block_hash for block_hash in hashes if block_hash is not None]

    def _new_transactions(self, cursor: _PendingCursor) -> list[Hash32]:
        found, cursor.arrivals = self._arrivals.since(cursor.arrivals, self._limits.results)
        return list(dict.fromkeys(found))

    def _missed(self, filter_id: int, position: int) -> list[Reorg]:
        missed = self._retreats.since(position)
        if missed is None:
            self.uninstall(filter_id)
            raise FilterNotFound
        return missed

    def _use(self, filter_id: int) -> _Cursor:
        cursor = self._take(filter_id)
        if cursor is None:
            raise FilterNotFound
        self._cursors.put(filter_id, cursor)
        return cursor

    def _take(self, filter_id: int) -> _Cursor | None:
        cursor = self._cursors.pop(filter_id)
        return None if isinstance(cursor, _LogCursor) and cursor.is_lost else cursor

    def _install(self, cursor: _Cursor) -> Quantity:
        filter_id = _new_id()
        self._cursors.put(filter_id, cursor)
        return filter_id

    def _listen(self) -> None:
        for event in self._events.take()[0]:
            if not self._cursors:
                continue
            if isinstance(event, TransactionPending):
                self._arrivals.add(event.transaction.hash)
            elif isinstance(event, BlocksReverted):
                self._retreats.add(Reorg.of(event))


def _new_id() -> Quantity:
    """Return a random number of 64 hex digits, the first not 0: as a hash and as a quantity it reads the same."""
    least = 16**63
    return Quantity(least + secrets.randbelow(15 * least))
