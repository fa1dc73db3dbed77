"""Cache of the logs of blocks, as clients read them."""

from __future__ import annotations

from collections.abc import Iterator

from entresol.cache_limits import CACHES
from entresol.primitives.records import BlockRecord
from entresol.rpc.cache.block_logs import BlockLogs
from entresol.rpc.cache.blocks import BlockCache
from entresol.rpc.render.transactions import BatchReader
from entresol.storage.log_index import LogQuery
from entresol.storage.store_view import LogReader


class LogCache:
    """The log index of a chain, and the logs of the blocks read last.

    Remembers: logs and their JSON, bounded in bytes. Persists: nothing. Assumes: its owner invalidates blocks
    that are reverted or get a batch; any thread may call. Fails: as its readers do.
    """

    def __init__(
        self, blocks: LogReader, batches: BatchReader, max_bytes: int = CACHES.logs
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

    def block_number(self, block_hash: bytes) -> int | None:
        """Return the number of the block with this hash."""
        return self._blocks.block_number(block_hash)

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
