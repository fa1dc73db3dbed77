"""Cache of recently read block records."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Final

from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.records import BlockRecord

MAX_RECORDS: Final = 4_096
MAX_BYTES: Final = 64 * 1024 * 1024

# What the parts of a record take in memory besides their bytes, roughly.
_RECORD_BYTES: Final = 2_048
_PART_BYTES: Final = 384


class RecordCache:
    """An LRU cache of records; any thread may read beside the writer, which evicts deleted ones."""

    def __init__(self, max_records: int = MAX_RECORDS, max_bytes: int = MAX_BYTES) -> None:
        self._records: BoundedMap[int, BlockRecord] = BoundedMap(max_records, max_weight=max_bytes)
        self._lock = Lock()
        self._generation = 0

    @property
    def size(self) -> int:
        """How many bytes the records take, roughly."""
        return self._records.weight

    def get(self, number: int, read: Callable[[int], BlockRecord | None]) -> BlockRecord | None:
        """Return the record of a block, from the cache or else by `read`."""
        with self._lock:
            generation = self._generation
            record = self._records.touch(number)
        if record is not None:
            return record
        record = read(number)
        if record is not None:
            with self._lock:
                # A record that was read before others were evicted may be deleted since.
                if generation == self._generation:
                    self._records.put(number, record, memory_of_record(record))
        return record

    def evict_above(self, number: int) -> None:
        """Drop the records above block `number`, and those that other threads are reading now."""
        with self._lock:
            self._records.pop_all(number.__lt__)
            self._generation += 1


def memory_of_record(record: BlockRecord) -> int:
    """Return how many bytes a record takes in memory, roughly."""
    logs = [log for result in record.results for log in result.logs]
    parts = 2 * len(record.transactions) + len(logs)
    parts += sum(len(result.l2_to_l1_logs) for result in record.results)
    parts += sum(1 + len(change.slots) for change in record.changes)
    data = sum(len(raw) for raw, _ in record.transactions) + sum(len(data) for _, _, data in logs)
    return _RECORD_BYTES + _PART_BYTES * parts + data + sum(map(len, record.codes))
