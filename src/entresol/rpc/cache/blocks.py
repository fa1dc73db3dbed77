"""Caches of values derived from blocks, invalidated by block number; above all encoded responses."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Hashable
from enum import IntEnum
from typing import Final, Generic, TypeAlias, TypeVar

import msgspec

from entresol.cache_limits import CACHES
from entresol.listeners import Listeners
from entresol.primitives.bounded_map import BoundedMap

ENTRY_BYTES: Final = 400
"""What an entry takes besides its value, roughly."""


class ResponseKind(IntEnum):
    """What a cached response describes."""

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

    Remembers: values and the blocks they derive from. Persists: nothing. Assumes: its owner invalidates blocks
    that are reverted or get a batch; any thread may call. Fails: never; it evicts.
    """

    def __init__(self, max_bytes: int, size_of: Callable[[_V], int]) -> None:
        """Take the bound, and the function that returns the size of a value in bytes."""
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
