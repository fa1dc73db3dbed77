"""Caches of what is rendered of blocks: responses, and logs with their matches."""

from __future__ import annotations

import sys
import threading
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Sequence
from enum import IntEnum
from itertools import accumulate
from typing import Final, Generic, TypeAlias, TypeVar

import msgspec

from entresol._native import log_json
from entresol.cache_limits import CACHES
from entresol.listeners import Listeners
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.headers import number_and_timestamp
from entresol.primitives.records import BlockRecord
from entresol.rpc.render.chain_json import BatchInfo, BatchReader, BlockInclusion, log_context
from entresol.storage.log_index import LogQuery
from entresol.storage.store_view import StoreView

ENTRY_BYTES: Final = 400
"""The bytes of an entry besides its value, roughly."""


class ResponseKind(IntEnum):
    """The kind of object that a cached response describes."""

    BLOCK = 0
    FULL_BLOCK = 1
    HEADER = 2
    RECEIPTS = 3
    TRANSACTION = 4
    RECEIPT = 5


_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")

Key: TypeAlias = tuple[ResponseKind, int | bytes]
"""A kind, with the number of a block or the hash of a transaction."""


class BlockCache(Generic[_K, _V]):
    """An LRU cache of values derived from blocks, bounded in bytes.

    Remembers: values and the blocks they derive from. Assumes: its owner invalidates blocks
    that are reverted or get a batch; any thread may call. Fails: never; it evicts.
    """

    def __init__(self, max_bytes: int, size_of: Callable[[_V], int]) -> None:
        self._size_of = size_of
        self._entries: BoundedMap[_K, tuple[_V, int]] = BoundedMap(
            max_weight=max_bytes, on_remove=self._removed
        )
        self._by_block: dict[int, set[_K]] = {}
        self._lock = threading.Lock()
        self.generation = 0
        """How often values were invalidated."""
        self.invalidated: Listeners[[]] = Listeners()
        """Notified when blocks are invalidated, for caches that derive from this one."""

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: _K) -> bool:
        return key in self._entries

    @property
    def size(self) -> int:
        """How many bytes it takes, roughly."""
        return self._entries.weight

    def get(self, key: _K) -> _V | None:
        """Return a value, which becomes the most recently used one."""
        with self._lock:
            entry = self._entries.touch(key)
        return None if entry is None else entry[0]

    def put(self, key: _K, value: _V, *, block: int, generation: int) -> None:
        """Cache a value derived from `block`.

        `generation` is the cache's own before the value's parts were read. If values were invalidated since,
        this one may be stale, and is dropped.
        """
        size = ENTRY_BYTES + self._size_of(value)
        with self._lock:
            if generation != self.generation:
                return
            self._entries.put(key, (value, block), size)
            if key in self._entries:
                self._by_block.setdefault(block, set()).add(key)

    def invalidate(self, first: int, last: int) -> None:
        """Drop what derives from the blocks from `first` to `last`: they have a batch now."""
        self._invalidate(range(first, last + 1))

    def invalidate_above(self, number: int) -> None:
        """Drop what derives from blocks above `number`: they are reverted."""
        self._invalidate(range(number + 1, sys.maxsize))

    def _invalidate(self, blocks: range) -> None:
        with self._lock:
            self.generation += 1
            self.invalidated.notify()
            for block in list(filter(blocks.__contains__, self._by_block)):
                for key in tuple(self._by_block[block]):
                    self._entries.pop(key)

    def _removed(self, key: _K, entry: tuple[_V, int]) -> None:
        block = entry[1]
        keys = self._by_block[block]
        keys.discard(key)
        if not keys:
            del self._by_block[block]


class RenderedCache(BlockCache[Key, msgspec.Raw]):
    """The encoded responses used last."""

    def __init__(self, max_bytes: int = CACHES.rendered) -> None:
        super().__init__(max_bytes, lambda response: memoryview(response).nbytes)

    def invalidate_transaction(self, transaction_hash: bytes) -> None:
        """Drop what describes a transaction: it is pending again, and may be included elsewhere."""
        with self._lock:
            self.generation += 1
            self._entries.pop((ResponseKind.TRANSACTION, transaction_hash))
            self._entries.pop((ResponseKind.RECEIPT, transaction_hash))


# Upper bounds of what the objects take besides the bytes of a transaction and the data of a log.
_BLOCK_BYTES: Final = 2_048
_TRANSACTION_BYTES: Final = 512
_LOG_BYTES: Final = 1_536
# The data itself, and its hex digits.
_BYTES_PER_DATA_BYTE: Final = 3

# How many rendered logs take as long as one that is not.
_RENDERED_PER_UNRENDERED: Final = 16


class BlockLogs:
    """The logs of a block, in order.

    A log is rendered when it is first needed, because a filter may match one of a thousand. Any thread may read:
    two that render the same log at once render the same.
    """

    __slots__ = (
        "_context", "_inclusion", "_logs", "_record", "_removed", "_rendered", "_starts", "weight",
    )  # fmt: skip

    def __init__(
        self, record: BlockRecord, batch: BatchInfo | None, *, removed: bool = False
    ) -> None:
        """Take a block, and its batch if that is sealed; the logs of a reverted block are `removed`."""
        number, timestamp = number_and_timestamp(record.header_rlp)
        self._inclusion = BlockInclusion(number, record.hash(), timestamp, 0, batch)
        self._record = msgspec.structs.replace(record, changes=(), codes=(), edits=())
        self._removed = removed
        self._logs = tuple(log for result in record.results for log in result.logs)
        self._starts = tuple(accumulate((len(result.logs) for result in record.results), initial=0))
        self._rendered: list[bytes | None] = [None] * len(self._logs)
        # The transaction rendered last, and the members that its logs share.
        self._context = -1, b""
        self.weight = self._max_bytes()

    def __len__(self) -> int:
        return len(self._logs)

    @property
    def number(self) -> int:
        """The number of the block."""
        return self._inclusion.number

    @property
    def hash(self) -> bytes:
        """The hash of the block."""
        return self._inclusion.hash

    @property
    def cost(self) -> int:
        """The cost of matching all logs, in logs that are to be rendered."""
        return self._rendered.count(None) + len(self._rendered) // _RENDERED_PER_UNRENDERED

    def matching(self, query: LogQuery) -> Iterator[bytes]:
        """Yield the logs of `query` as JSON."""
        rendered = self._rendered
        for index in self._indexes(query):
            yield rendered[index] or self._render(index)

    def _indexes(self, query: LogQuery) -> Sequence[int]:
        """Return which logs `query.accepts`, one criterion after the other: no call per log."""
        logs, wanted = self._logs, query.addresses
        found: Sequence[int] = range(len(logs))
        if wanted:
            found = [at for at in found if logs[at][0] in wanted]
        if query.topics:
            count = len(query.topics)
            found = [at for at in found if len(logs[at][1]) >= count]
        for position, wanted in enumerate(query.topics):
            if wanted:
                found = [at for at in found if logs[at][1][position] in wanted]
        return found

    def _render(self, index: int) -> bytes:
        position = bisect_right(self._starts, index) - 1
        rendered_last, context = self._context
        if rendered_last != position:
            transaction_hash = self._record.transaction_hash(position)
            context = log_context(
                self._inclusion, transaction_hash, position, removed=self._removed
            )
            self._context = position, context
        within = index - self._starts[position]
        text = log_json(self._logs[index], context, index, within)
        self._rendered[index] = text
        return text

    def _max_bytes(self) -> int:
        raw = sum(_TRANSACTION_BYTES + len(raw) for raw, _ in self._record.transactions)
        data = sum(len(data) for _, _, data in self._logs)
        return _BLOCK_BYTES + raw + _LOG_BYTES * len(self._logs) + _BYTES_PER_DATA_BYTE * data


class LogCache:
    """The log index of a chain, and the logs of the blocks read last.

    Remembers: logs and their JSON, bounded in bytes. Assumes: its owner invalidates blocks
    that are reverted or get a batch; any thread may call. Fails: as its readers do.
    """

    def __init__(
        self, blocks: StoreView, batches: BatchReader, max_bytes: int = CACHES.logs
    ) -> None:
        self._blocks = blocks
        self._batches = batches
        # Not the cache of responses: a search through many blocks must not evict those.
        self._cache: BlockCache[int, BlockLogs] = BlockCache(max_bytes, lambda logs: logs.weight)
        self.invalidate = self._cache.invalidate
        """Drop the logs of the blocks from one to another: they have a batch now."""
        self.invalidate_above = self._cache.invalidate_above
        """Drop the logs of the blocks above one: they are reverted."""

    @property
    def size(self) -> int:
        """How many bytes it takes at most."""
        return self._cache.size

    def blocks_with_logs(self, query: LogQuery, first: int, last: int) -> Iterator[int]:
        """Yield the blocks from `first` to `last` that may have a log of `query`."""
        return self._blocks.blocks_with_logs(query, first, last)

    def is_cached(self, number: int) -> bool:
        """Say whether the logs of a block are in memory."""
        return number in self._cache

    def has_many(self, number: int, limit: int) -> bool:
        """Say whether a block has more logs than `limit` that are not in memory."""
        if number in self._cache:
            return False
        record = self._blocks.get_record(number)
        return record is not None and sum(len(result.logs) for result in record.results) > limit

    def logs_of(self, number: int) -> BlockLogs | None:
        """Return the logs of a block."""
        cached = self._cache.get(number)
        if cached is not None:
            return cached
        generation = self._cache.generation
        record = self._blocks.get_record(number)
        if record is None:
            return None
        logs = BlockLogs(record, self._batches.batch_of(number))
        self._cache.put(number, logs, block=number, generation=generation)
        return logs

    def logs_in(self, record: BlockRecord) -> BlockLogs:
        """Return the logs of a block that was sealed, and may be reverted since."""
        number = record.header().number
        logs = self.logs_of(number)
        if logs is None or logs.hash != record.hash():
            return BlockLogs(record, None)
        return logs
