"""Filters: what clients poll for changes since the last poll."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from entresol.chain.events import BlocksReverted, Listening, TransactionPending
from entresol.errors import FilterNotFound
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.values import Hash32, Quantity
from entresol.rpc.pubsub.criteria_memory import CriteriaMemory, criteria_bytes
from entresol.rpc.pubsub.event_log import PendingHashes, Reorg, ReorgLog
from entresol.rpc.pubsub.hash_changes import HashChanges
from entresol.rpc.pubsub.log_cursor import FilterLogs, LogChanges, LogCursor, SearchedBlocks
from entresol.rpc.services.log_search import LogLimits, LogSearch, resolve_range

if TYPE_CHECKING:
    from entresol.chain.events import ChainEvents, Event
    from entresol.rpc.services.log_search import ChainHead, LogSource
    from entresol.rpc.types.log_filter import LogFilter

MAX_FILTERS: Final = 10_000


class BlockNumbers(Protocol):
    """Blocks by their number."""

    def block_hash(self, number: int) -> Hash32 | None:
        """Return the hash of a block."""


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
    Persists: nothing. Assumes: it is called on the thread that changes the chain. Fails: with
    `FilterNotFound`, or with `FilterMemoryFull` for a new one; the least recently used filter is evicted when
    there are too many.
    """

    def __init__(  # noqa: PLR0913 - independent parts
        self,
        head: ChainHead,
        blocks: BlockNumbers,
        source: LogSource,
        chain_events: ChainEvents,
        *,
        max_filters: int = MAX_FILTERS,
        limits: LogLimits | None = None,
        memory: CriteriaMemory | None = None,
    ) -> None:
        self._head = head
        self._blocks = blocks
        self._source = source
        self._limits = limits or LogLimits()
        self._memory = memory or CriteriaMemory()
        self._cursors: BoundedMap[int, _Cursor] = BoundedMap(max_filters, on_remove=self._removed)
        self._pending = PendingHashes()
        self._reorgs = ReorgLog()
        self._listening = Listening(
            chain_events, self._on_event, BlocksReverted, TransactionPending
        )

    def __len__(self) -> int:
        return len(self._cursors)

    def __iter__(self) -> Iterator[int]:
        """Yield the ids of the filters."""
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
        checked = self._limits.checked(wanted, self._head)
        blocks = resolve_range(checked, self._head, self._source)
        return self._install(LogCursor(checked, blocks, self._head.number + 1, self._reorgs.end))

    def new_block_filter(self) -> Quantity:
        """Install a filter for the hashes of new blocks, and return its id."""
        return self._install(_BlockCursor(self._head.number + 1, self._reorgs.end))

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
        return cursor.next > self._head.number and cursor.reorgs == self._reorgs.end

    def poll(self, filter_id: int) -> LogChanges | HashChanges:
        """Move a filter to the head, and return its changes, which can be read on a thread."""
        match self._use(filter_id):
            case LogCursor() as cursor:
                removed = cursor.rewind(self._missed(filter_id, cursor.reorgs))
                new = cursor.advance(self._source, self._head, self._limits.results)
                return LogChanges(cursor, removed, new)
            case _BlockCursor() as cursor:
                return self._new_blocks(filter_id, cursor)
            case _PendingCursor() as cursor:
                return self._new_transactions(cursor)

    def is_known_empty(self, filter_id: int) -> bool:
        """Say whether a search has found no logs in the range of a filter, and its blocks are still the same."""
        cursor = self._use_log_cursor(filter_id)
        blocks = resolve_range(cursor.wanted, self._head, self._source)
        return cursor.known_empty == SearchedBlocks(blocks, self._reorgs.end)

    def wanted(self, filter_id: int) -> LogFilter:
        """Return which logs a filter is for."""
        return self._use_log_cursor(filter_id).wanted

    def logs(self, filter_id: int) -> FilterLogs:
        """Return the search for all logs in the range of a filter; its position stays."""
        cursor = self._use_log_cursor(filter_id)
        search = LogSearch.of(self._source, self._head, cursor.wanted, self._limits)
        return FilterLogs(cursor, SearchedBlocks(search.range, self._reorgs.end), search)

    def _new_blocks(self, filter_id: int, cursor: _BlockCursor) -> HashChanges:
        missed = self._missed(filter_id, cursor.reorgs)
        cursor.reorgs += len(missed)
        first = min([cursor.next, *(reorg.head + 1 for reorg in missed)])
        cursor.next = min(self._head.number + 1, first + self._limits.results)
        numbers, block_hash = range(first, cursor.next), self._blocks.block_hash

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
        """Listen to the chain's events while there are filters."""
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
