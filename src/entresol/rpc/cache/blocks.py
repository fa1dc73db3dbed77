"""What was made of blocks once, kept for the next who asks: encoded answers above all."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from enum import IntEnum
from typing import Final, Generic, TypeAlias, TypeVar

import msgspec

DEFAULT_BYTES: Final = 64 * 1024 * 1024
ENTRY_BYTES: Final = 400
"""What an entry takes besides its answer, roughly."""


class ResponseKind(IntEnum):
    """What an answer is."""

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
    """What was made of blocks and asked for last, up to a number of bytes.

    Remembers: values and the blocks they speak of. Persists: nothing. Assumes: it is told when
    blocks are gone or say something else; any thread may call. Fails: never; it forgets.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._entries: OrderedDict[_K, tuple[_V, int, int]] = OrderedDict()
        self._by_block: dict[int, set[_K]] = {}
        self._lock = threading.Lock()
        self.age = 0
        """How often something was forgotten because it changed."""
        self.on_change: Callable[[], None] = lambda: None
        """Told when blocks are gone or say something else, for those who keep more than is kept here."""

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: _K) -> bool:
        return key in self._entries

    @property
    def size(self) -> int:
        """How many bytes it takes, roughly."""
        return self._bytes

    def get(self, key: _K) -> _V | None:
        """Return a value, which then counts as used last."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def keep(self, key: _K, value: _V, *, size: int, block: int, age: int) -> None:
        """Keep a value of so many bytes that speaks of `block`.

        `age` is what the cache's was before the value's parts were read. If something was forgotten
        since, the value may be of before, and is not kept.
        """
        size += ENTRY_BYTES
        with self._lock:
            if age != self.age or size > self._max_bytes:
                return
            self._drop(key)
            self._entries[key] = value, block, size
            self._by_block.setdefault(block, set()).add(key)
            self._bytes += size
            while self._bytes > self._max_bytes:
                self._drop(next(iter(self._entries)))

    def forget(self, first: int, last: int) -> None:
        """Drop what speaks of the blocks from `first` to `last`: their batch is known now."""
        self._forget(range(first, last + 1))

    def forget_above(self, number: int) -> None:
        """Drop what speaks of blocks above `number`: the chain went back."""
        self._forget(range(number + 1, sys.maxsize))

    def _forget(self, blocks: range) -> None:
        with self._lock:
            self.age += 1
            self.on_change()
            for block in [number for number in self._by_block if number in blocks]:
                for key in tuple(self._by_block[block]):
                    self._drop(key)

    def _drop(self, key: _K) -> None:
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        _, block, size = entry
        self._bytes -= size
        keys = self._by_block[block]
        keys.discard(key)
        if not keys:
            del self._by_block[block]


class RenderedCache(BlockCache[Key, msgspec.Raw]):
    """The encoded answers asked for last."""

    def __init__(self, max_bytes: int = DEFAULT_BYTES) -> None:
        super().__init__(max_bytes)

    def put(self, key: Key, answer: msgspec.Raw, *, block: int, age: int) -> None:
        """Keep an answer that speaks of `block`."""
        self.keep(key, answer, size=memoryview(answer).nbytes, block=block, age=age)

    def forget_transaction(self, transaction_hash: bytes) -> None:
        """Drop what speaks of a transaction: it waits again, and may get another place."""
        with self._lock:
            self.age += 1
            self._drop((ResponseKind.TRANSACTION, transaction_hash))
            self._drop((ResponseKind.RECEIPT, transaction_hash))
