"""Filters: what clients poll for changes since the last poll."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar

from entresol.chain.events import BlocksReverted, Listening, TransactionPending
from entresol.errors import FilterNotFound, TooManyResults, UnknownBlock
from entresol.offload import POLICY
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.values import Hash32, Quantity
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.rpc.pubsub.criteria_memory import CriteriaMemory, criteria_bytes
from entresol.rpc.pubsub.event_log import PendingHashes, Reorg, ReorgLog
from entresol.rpc.services.log_search import (
    BlockRange,
    LogLimits,
    LogSearch,
    resolve_last,
    resolve_range,
)

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.chain.events import Event
    from entresol.rpc.cache import BlockLogs, LogCache
    from entresol.rpc.types.log_filter import LogFilter


class HashChanges:
    """At most `count` hashes, which are still to be read."""

    def __init__(self, count: int, read: Callable[[], Iterable[Hash32]]) -> None:
        self._count = count
        self._read = read

    def hashes(self) -> list[Hash32]:
        """Return the hashes, each once; any thread may."""
        return list(dict.fromkeys(cooperatively(self._read())))

    def run(self) -> list[bytes]:
        """Return the hashes as JSON; any thread may."""
        return [b'"0x%b"' % found.hex().encode() for found in cooperatively(self.hashes())]

    def run_if_quick(self) -> list[bytes] | None:
        """Return the hashes as JSON, or None if they are too many for the event loop."""
        return None if self._count > POLICY.hashes else self.run()


_Found = TypeVar("_Found", bound=list[bytes] | None)


class RemovedLogs(NamedTuple):
    """The blocks from `first` to `last` that a reorg removed."""

    reorg: Reorg
    first: int
    last: int

    def count_blocks(self) -> int:
        """Return how many blocks there are."""
        return self.reorg.count(self.first, self.last)

    def blocks(self) -> Iterator[BlockLogs]:
        """Yield the removed logs of each block."""
        return self.reorg.between(self.first, self.last)


class SearchedBlocks(NamedTuple):
    """The blocks of a search, as of the reorg at position `reorgs`: their logs are always the same."""

    blocks: BlockRange
    reorgs: int


class LogCursor:
    """A client has the logs of all blocks before `next`, as of the reorg at position `reorgs`."""

    def __init__(self, wanted: LogFilter, blocks: BlockRange, after: int, reorgs: int) -> None:
        self.wanted = wanted
        self.next = after
        self.reorgs = reorgs
        self.has_overflowed = False
        self.known_empty: SearchedBlocks | None = None
        """Where the last search for all logs found none."""
        # A block or a range that was given by numbers bounds new logs, and removed ones too.
        self._first, self._last = 0, wanted.to_block if isinstance(wanted.to_block, int) else None
        if isinstance(wanted.from_block, int):
            self._first = wanted.from_block
        if wanted.block_hash is not None:
            self._first, self._last = blocks.first, blocks.last

    def rewind(self, reorgs: list[Reorg]) -> list[RemovedLogs]:
        """Move back behind reorgs, and return the logs that they removed from those the client has."""
        removed: list[RemovedLogs] = []
        for reorg in reorgs:
            last = self.next - 1 if self._last is None else min(self.next - 1, self._last)
            removed.append(RemovedLogs(reorg, self._first, last))
            self.next = min(self.next, reorg.head + 1)
        self.reorgs += len(reorgs)
        return removed

    def advance(self, source: LogCache, chain: Chain, results: int) -> LogSearch:
        """Move to the head, and return the search for the logs up to there."""
        last = (
            resolve_last(self.wanted, chain)
            if self._last is None
            else min(self._last, chain.number)
        )
        blocks = BlockRange(max(self._first, self.next), last)
        self.next = max(self.next, last + 1)
        limits = LogLimits(results=results)
        return LogSearch(source, self.wanted.query, blocks, limits, self.wanted.block_hash)


class LogChanges:
    """The changes of a log filter, which are still to be rendered and searched."""

    def __init__(self, cursor: LogCursor, removed: list[RemovedLogs], new: LogSearch) -> None:
        self._cursor = cursor
        self._removed = removed
        self._new = new

    def run(self) -> list[bytes]:
        """Return the changes as JSON; any thread may. If they are too many, the filter overflows."""
        new = self._search(self._new.run)
        return list(cooperatively(self._matching_removed())) + new

    def run_if_quick(self) -> list[bytes] | None:
        """Return the changes, or None if they are too many for the event loop."""
        if sum(reorg.count_blocks() for reorg in self._removed) > POLICY.log_blocks:
            return None
        if sum(len(logs) for reorg in self._removed for logs in reorg.blocks()) > POLICY.logs:
            return None
        new = self._search(self._new.run_if_quick)
        return None if new is None else [*self._matching_removed(), *new]

    def _matching_removed(self) -> Iterator[bytes]:
        wanted = self._cursor.wanted
        for removed in self._removed:
            for logs in removed.blocks():
                if wanted.block_hash in {None, logs.hash}:
                    yield from logs.matching(wanted.query)

    def _search(self, search: Callable[[], _Found]) -> _Found | list[bytes]:
        try:
            return search()
        except UnknownBlock:
            # The block that the filter names is reverted, and another has its number.
            return []
        except TooManyResults as error:
            self._cursor.has_overflowed = True
            raise FilterNotFound from error


class FilterLogs:
    """All logs in the range of a filter, which are still to be searched.

    A client that polls for them finds none most of the time, so the cursor remembers where there are none.
    """

    def __init__(self, cursor: LogCursor, searched: SearchedBlocks, search: LogSearch) -> None:
        self._cursor = cursor
        self._searched = searched
        self._search = search

    def run(self) -> list[bytes]:
        """Return the logs as JSON; any thread may."""
        return self._remembered(self._search.run())

    def run_if_quick(self) -> list[bytes] | None:
        """Return the logs, or None if the search is too long for the event loop."""
        return self._remembered(self._search.run_if_quick())

    def _remembered(self, found: _Found) -> _Found:
        if found == []:
            self._cursor.known_empty = self._searched
        return found


MAX_FILTERS: Final = 10_000


Changes: TypeAlias = list[bytes] | list[Hash32]


class _BlockCursor:
    """A client has all blocks before `next`, as of the reorg at position `reorgs`."""

    def __init__(self, after: int, reorgs: int) -> None:
        self.next = after
        self.reorgs = reorgs


class _PendingCursor:
    """A client has the pending transactions before `position`."""

    def __init__(self, position: int) -> None:
        self.position = position


_Cursor: TypeAlias = LogCursor | _BlockCursor | _PendingCursor


class Filters:
    """The filters of all clients, by id.

    A filter holds no results, only its position, so one that is never polled costs nothing when a block is
    sealed. The oldest pending transactions are evicted when too many are unread; a filter that was not polled
    for so long that removed logs were evicted is not found any more.

    Remembers: the position of each filter, in the order of their use; the latest pending hashes; removed logs.
    Assumes: it is called on the thread that changes the chain. Fails: with
    `FilterNotFound`, or with `SubscriptionsFull` for a new one; the least recently used filter is evicted when
    there are too many.
    """

    def __init__(
        self,
        chain: Chain,
        source: LogCache,
        *,
        max_filters: int = MAX_FILTERS,
        limits: LogLimits | None = None,
        memory: CriteriaMemory | None = None,
    ) -> None:
        self._chain = chain
        self._source = source
        self._limits = limits or LogLimits()
        self._memory = memory or CriteriaMemory()
        self._cursors: BoundedMap[int, _Cursor] = BoundedMap(max_filters, on_remove=self._removed)
        self._pending = PendingHashes()
        self._reorgs = ReorgLog()
        self._listening = Listening(
            chain.events, self._on_event, BlocksReverted, TransactionPending
        )

    def __len__(self) -> int:
        return len(self._cursors)

    def __iter__(self) -> Iterator[int]:
        return iter(tuple(self._cursors))

    @property
    def event_bytes(self) -> int:
        """How many bytes the events take that filters have not read, at most."""
        return self._pending.size + self._reorgs.size

    def close(self) -> None:
        """Listen to the chain's events no more."""
        self._listening.switch(on=False)

    def new_log_filter(self, wanted: LogFilter) -> Quantity:
        """Install a filter for logs of new blocks, and return its id."""
        checked = self._limits.checked(wanted, self._chain)
        blocks = resolve_range(checked, self._chain)
        return self._install(LogCursor(checked, blocks, self._chain.number + 1, self._reorgs.end))

    def new_block_filter(self) -> Quantity:
        """Install a filter for the hashes of new blocks, and return its id."""
        return self._install(_BlockCursor(self._chain.number + 1, self._reorgs.end))

    def new_pending_filter(self) -> Quantity:
        """Install a filter for the hashes of new pending transactions, and return its id."""
        return self._install(_PendingCursor(self._pending.end))

    def uninstall(self, filter_id: int) -> bool:
        """Remove a filter, and say whether there was one."""
        found = self._pop(filter_id) is not None
        self._listen_if_needed()
        return found

    def changes(self, filter_id: int) -> Changes:
        """Return the changes since the filter was installed or last polled.

        If they exceed one response, hashes go on with the next poll; a filter for logs is removed.
        """
        changes = self.poll(filter_id)
        return changes.run() if isinstance(changes, LogChanges) else changes.hashes()

    def is_current(self, filter_id: int) -> bool:
        """Say whether there is nothing new since the last poll, which is what most polls find."""
        cursor = self._use(filter_id)
        if isinstance(cursor, _PendingCursor):
            return cursor.position == self._pending.end
        return cursor.next > self._chain.number and cursor.reorgs == self._reorgs.end

    def poll(self, filter_id: int) -> LogChanges | HashChanges:
        """Move a filter to the head, and return its changes, which can be read on a thread."""
        match self._use(filter_id):
            case LogCursor() as cursor:
                removed = cursor.rewind(self._missed(filter_id, cursor.reorgs))
                new = cursor.advance(self._source, self._chain, self._limits.results)
                return LogChanges(cursor, removed, new)
            case _BlockCursor() as cursor:
                return self._new_blocks(filter_id, cursor)
            case _PendingCursor() as cursor:
                return self._new_transactions(cursor)

    def is_known_empty(self, filter_id: int) -> bool:
        """Say whether a search has found no logs in the range of a filter, and its blocks are still the same."""
        cursor = self._use_log_cursor(filter_id)
        blocks = resolve_range(cursor.wanted, self._chain)
        return cursor.known_empty == SearchedBlocks(blocks, self._reorgs.end)

    def wanted(self, filter_id: int) -> LogFilter:
        """Return which logs a filter is for."""
        return self._use_log_cursor(filter_id).wanted

    def logs(self, filter_id: int) -> FilterLogs:
        """Return the search for all logs in the range of a filter; its position stays."""
        cursor = self._use_log_cursor(filter_id)
        search = LogSearch.of(self._source, self._chain, cursor.wanted, self._limits)
        return FilterLogs(cursor, SearchedBlocks(search.range, self._reorgs.end), search)

    def _new_blocks(self, filter_id: int, cursor: _BlockCursor) -> HashChanges:
        missed = self._missed(filter_id, cursor.reorgs)
        cursor.reorgs += len(missed)
        first = min([cursor.next, *(reorg.head + 1 for reorg in missed)])
        cursor.next = min(self._chain.number + 1, first + self._limits.results)
        numbers, block_hash = range(first, cursor.next), self._chain.blocks.block_hash

        def read() -> Iterator[Hash32]:
            return (found for found in map(block_hash, numbers) if found is not None)

        return HashChanges(len(numbers), read)

    def _new_transactions(self, cursor: _PendingCursor) -> HashChanges:
        found, cursor.position = self._pending.since(cursor.position, self._limits.results)
        return HashChanges(len(found), lambda: found)

    def _missed(self, filter_id: int, position: int) -> list[Reorg]:
        missed = self._reorgs.since(position)
        if missed is None:
            self.uninstall(filter_id)
            raise FilterNotFound
        return missed

    def _use(self, filter_id: int) -> _Cursor:
        cursor = self._cursors.touch(filter_id)
        if cursor is None:
            raise FilterNotFound
        if isinstance(cursor, LogCursor) and cursor.has_overflowed:
            self._cursors.pop(filter_id)
            self._listen_if_needed()
            raise FilterNotFound
        return cursor

    def _use_log_cursor(self, filter_id: int) -> LogCursor:
        cursor = self._use(filter_id)
        if not isinstance(cursor, LogCursor):
            raise FilterNotFound
        return cursor

    def _pop(self, filter_id: int) -> _Cursor | None:
        cursor = self._cursors.pop(filter_id)
        return None if isinstance(cursor, LogCursor) and cursor.has_overflowed else cursor

    def _install(self, cursor: _Cursor) -> Quantity:
        filter_id = _new_id()
        self._memory.reserve(_size_of(cursor))
        self._cursors.put(filter_id, cursor)
        self._listen_if_needed()
        return filter_id

    def _removed(self, _filter_id: int, cursor: _Cursor) -> None:
        self._memory.release(_size_of(cursor))

    def _listen_if_needed(self) -> None:
        self._listening.switch(on=bool(self._cursors))
        if not self._cursors:
            self._reorgs.clear()

    def _on_event(self, event: Event) -> None:
        if isinstance(event, TransactionPending):
            self._pending.add(event.transaction.hash)
        elif isinstance(event, BlocksReverted):
            self._reorgs.add(Reorg(event))


def _size_of(cursor: _Cursor) -> int:
    return criteria_bytes(cursor.wanted.query if isinstance(cursor, LogCursor) else None)


def _new_id() -> Quantity:
    """Return a random number of 64 hex digits, the first not 0: as a hash and as a quantity it reads the same."""
    smallest = 16**63
    return Quantity(smallest + secrets.randbelow(15 * smallest))
