"""`BoundedMap`: the dictionary behind every cache, bounded by entries, by weight or by both."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedMap(Generic[K, V]):
    """A map that evicts its oldest entries once it exceeds a bound: FIFO if it is read by `get`, LRU if by `touch`.

    `get` is the dictionary's own, so that a hit costs what it costs there; it may run on any thread beside a
    writer. All else changes several fields: an owner that is used by several threads holds its own lock.
    """

    __slots__ = (
        "_entries", "_max_entries", "_max_weight", "_on_remove", "_weight", "_weights", "get",
    )  # fmt: skip

    get: Callable[[K], V | None]
    """Return the value of a key, or None; the order stays. No value is None."""

    def __init__(
        self,
        max_entries: int = sys.maxsize,
        *,
        max_weight: int = sys.maxsize,
        on_remove: Callable[[K, V], None] | None = None,
    ) -> None:
        """Bound the number of entries and the sum of their weights; `on_remove` is called with each that leaves in any way."""
        # Not a dict: finding the oldest entry there skips all slots that evictions left empty.
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._weights: dict[K, int] = {}
        self._weight = 0
        self._max_entries = max_entries
        self._max_weight = max_weight
        self._on_remove = on_remove
        self.get = self._entries.get

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[K]:
        """Yield the keys, the oldest first."""
        return iter(self._entries)

    def __reversed__(self) -> Iterator[K]:
        """Yield the keys, the newest first."""
        return reversed(self._entries)

    @property
    def weight(self) -> int:
        """The sum of the entries' weights."""
        return self._weight

    def touch(self, key: K) -> V | None:
        """Return the value of a key, or None; the entry becomes the newest."""
        value = self.get(key)
        if value is not None:
            self._entries.move_to_end(key)
        return value

    def put(self, key: K, value: V, weight: int = 0) -> None:
        """Store a value as the newest entry, unless it is heavier than the whole map, and evict the oldest beyond the bounds."""
        entries = self._entries
        if key in entries:
            self.pop(key)
        if weight > self._max_weight:
            return
        entries[key] = value
        if weight:
            self._weights[key] = weight
            self._weight += weight
        while len(entries) > self._max_entries or self._weight > self._max_weight:
            self._removed(*entries.popitem(last=False))

    def pop(self, key: K) -> V | None:
        """Remove a key and return its value, or None."""
        if key not in self._entries:
            return None
        value = self._entries.pop(key)
        self._removed(key, value)
        return value

    def pop_all(self, matches: Callable[[K], bool]) -> None:
        """Remove all keys that match."""
        entries = self._entries
        is_plain = not self._weights and self._on_remove is None
        for key in list(filter(matches, entries)):
            value = entries.pop(key)
            if not is_plain:
                self._removed(key, value)

    def pop_newest(self, matches: Callable[[K], bool]) -> None:
        """Remove the newest keys, up to the first that does not match."""
        entries = self._entries
        while entries and matches(next(reversed(entries))):
            self._removed(*entries.popitem())

    def clear(self) -> None:
        """Remove all entries."""
        while self._entries:
            self._removed(*self._entries.popitem(last=False))

    def copy(self) -> BoundedMap[K, V]:
        """Return a map with the same bounds and entries, in the same order; the values are shared."""
        copied: BoundedMap[K, V] = BoundedMap(
            self._max_entries, max_weight=self._max_weight, on_remove=self._on_remove
        )
        copied._entries.update(self._entries)
        copied._weights.update(self._weights)
        copied._weight = self._weight
        return copied

    def _removed(self, key: K, value: V) -> None:
        if self._weights:
            self._weight -= self._weights.pop(key, 0)
        if self._on_remove is not None:
            self._on_remove(key, value)
