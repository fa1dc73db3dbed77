"""Cache of recently read block records."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Final

from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.records import BlockRecord

MAX_RECORDS: Final = 64


class RecordCache:
    """An LRU cache of records; any thread may read beside the writer, who clears it."""

    def __init__(self, max_records: int = MAX_RECORDS) -> None:
        self._records: BoundedMap[int, BlockRecord] = BoundedMap(max_records)
        self._lock = Lock()
        self._generation = 0

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
                # A record that was read before the cache was cleared may be deleted since.
                if generation == self._generation:
                    self._records.put(number, record)
        return record

    def clear(self) -> None:
        """Drop all records, and those that other threads are reading now."""
        with self._lock:
            self._records.clear()
            self._generation += 1
