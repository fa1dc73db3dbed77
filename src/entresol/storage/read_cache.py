"""Cache of what a store has read lately: records by number, and numbers by hash."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Final, TypeVar

from entresol.cache_limits import CACHES
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.records import BlockRecord

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

# What the parts of a record take in memory besides their bytes, roughly.
_RECORD_BYTES: Final = 2_048
_PART_BYTES: Final = 384


class ReadCache:
    """Records by number, and numbers by hash; any thread may read beside the writer, which evicts reverted blocks."""

    def __init__(
        self, max_records: int = CACHES.records, max_bytes: int = CACHES.record_bytes
    ) -> None:
        self._records: BoundedMap[int, BlockRecord] = BoundedMap(max_records, max_weight=max_bytes)
        self._numbers: BoundedMap[bytes, int] = BoundedMap(CACHES.block_numbers)
        self._lock = Lock()
        self._generation = 0

    @property
    def evictions(self) -> int:
        """How often reverted blocks were dropped."""
        return self._generation

    @property
    def size(self) -> int:
        """How many bytes the records take, roughly."""
        return self._records.weight

    def record(self, number: int, read: Callable[[int], BlockRecord | None]) -> BlockRecord | None:
        """Return the record of a block, from the cache or else by `read`."""
        with self._lock:
            record = self._records.touch(number)
        if record is None:
            record = self._read(self._records, number, read, memory_of_record)
        return record

    def number(self, block_hash: bytes, read: Callable[[bytes], int | None]) -> int | None:
        """Return the number of the block with this hash, from the cache or else by `read`."""
        number = self._numbers.get(block_hash)
        return self._read(self._numbers, block_hash, read) if number is None else number

    def evict_above(self, number: int) -> None:
        """Drop what is known of blocks above `number`, and what other threads are reading now."""
        with self._lock:
            self._records.pop_all(number.__lt__)
            self._numbers = BoundedMap(CACHES.block_numbers)
            self._generation += 1

    def _read(
        self,
        entries: BoundedMap[K, V],
        key: K,
        read: Callable[[K], V | None],
        weigh: Callable[[V], int] = lambda _: 0,
    ) -> V | None:
        generation = self._generation
        value = read(key)
        if value is not None:
            with self._lock:
                # What was read before a revert may be of a reverted block.
                if generation == self._generation:
                    entries.put(key, value, weigh(value))
        return value


def memory_of_record(record: BlockRecord) -> int:
    """Return how many bytes a record takes in memory, roughly."""
    logs = [log for result in record.results for log in result.logs]
    parts = 2 * len(record.transactions) + len(logs)
    parts += sum(len(result.l2_to_l1_logs) for result in record.results)
    parts += sum(1 + len(change.slots) for change in record.changes)
    data = sum(len(raw) for raw, _ in record.transactions) + sum(len(data) for _, _, data in logs)
    return _RECORD_BYTES + _PART_BYTES * parts + data + sum(map(len, record.codes))
