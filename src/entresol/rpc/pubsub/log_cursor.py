"""The position of a log filter, its changes since the last poll, and all of its logs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from entresol.errors import FilterNotFound, TooManyResults, UnknownBlock
from entresol.offload import POLICY
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.rpc.services.log_search import BlockRange, LogLimits, LogSearch, resolve_last

if TYPE_CHECKING:
    from entresol.rpc.cache import BlockLogs
    from entresol.rpc.pubsub.event_log import Reorg
    from entresol.rpc.services.log_search import ChainHead, LogSource
    from entresol.rpc.types.log_filter import LogFilter

_Found = TypeVar("_Found", bound=list[bytes] | None)


class RemovedLogs(NamedTuple):
    """What a reorg removed of the blocks from `first` to `last`."""

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

    def advance(self, source: LogSource, head: ChainHead, results: int) -> LogSearch:
        """Move to the head, and return the search for the logs up to there."""
        last = (
            resolve_last(self.wanted, head) if self._last is None else min(self._last, head.number)
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
        if sum(it.count_blocks() for it in self._removed) > POLICY.log_blocks:
            return None
        if sum(len(logs) for it in self._removed for logs in it.blocks()) > POLICY.logs:
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
