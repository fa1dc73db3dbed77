"""A bounded queue of things to relay, each tried a few times."""

from __future__ import annotations

import logging
from collections import Counter
from operator import itemgetter
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

MAX_OPEN: Final = 1_000
"""How many are held; what was sent after them is read once there is room."""
MAX_TRIES: Final = 5
MAX_TOLD: Final = 100
"""How many that were given up are in the log; the metrics count all of them."""
FIRST_DELAY: Final = 0.5
"""Seconds until what failed is tried again; they double with each further try."""

T = TypeVar("T")


class _Entry(Generic[T]):
    __slots__ = ("due", "group", "item", "tries")

    def __init__(self, item: T, group: Hashable) -> None:
        self.item = item
        self.group = group
        self.tries = 0
        self.due = 0.0


class RetryQueue(Generic[T]):
    """Items by their keys, in the order in which they came; those that have failed wait longer each time.

    Remembers: up to `MAX_OPEN` items. Persists: nothing: what is open follows from the chains. Fails: never.
    """

    def __init__(self, clock: Callable[[], float], *, limit: int = MAX_OPEN) -> None:
        self._clock = clock
        self._limit = limit
        self._entries: dict[Hashable, _Entry[T]] = {}
        self.skipped = 0
        """How many were given up, after all of their tries."""

    def __len__(self) -> int:
        """Return how many are open."""
        return len(self._entries)

    def __contains__(self, key: Hashable) -> bool:
        """Return whether one is open."""
        return key in self._entries

    def get(self, key: Hashable) -> T | None:
        """Return one that is open."""
        entry = self._entries.get(key)
        return None if entry is None else entry.item

    @property
    def room(self) -> int:
        """How many more it takes."""
        return self._limit - len(self._entries)

    def make_room(self, count: int) -> list[T]:
        """If it is full, give up some that have failed, so that what comes later is not held up by them; return them."""
        if self.room > 0:
            return []
        failed = sorted((key for key, it in self._entries.items() if it.tries), key=self._tries)
        given_up = [self._entries.pop(key).item for key in failed[-count:]]
        self.skipped += len(given_up)
        return given_up

    def add(self, key: Hashable, item: T, group: Hashable = None) -> None:
        """Add an item, unless it is there; those of one group, as of one sender, hold up each other before others."""
        assert self.room > 0
        self._entries.setdefault(key, _Entry(item, group))

    def due(self) -> Iterator[tuple[Hashable, T]]:
        """Yield what may be tried now: those that were never tried first, one of each group in turn, the oldest first."""
        now = self._clock()
        seen: Counter[tuple[int, Hashable]] = Counter()
        ready = []
        for key, it in self._entries.items():
            if it.due <= now:
                seen[it.tries, it.group] += 1
                ready.append((it.tries, seen[it.tries, it.group], key, it.item))
        ready.sort(key=itemgetter(0, 1))
        yield from ((key, item) for _, _, key, item in ready)

    def next_due(self) -> float | None:
        """Return the seconds until the next one that has failed may be tried again; None if none has."""
        waiting = [it.due for it in self._entries.values() if it.tries]
        return max(0.0, min(waiting) - self._clock()) if waiting else None

    def failed(self, key: Hashable) -> bool:
        """Count a try that failed, and return whether it was the last."""
        entry = self._entries.get(key)
        if entry is None:
            return False
        entry.tries += 1
        if entry.tries >= MAX_TRIES:
            del self._entries[key]
            self.skipped += 1
            return True
        entry.due = self._clock() + FIRST_DELAY * 2 ** (entry.tries - 1)
        return False

    def _tries(self, key: Hashable) -> int:
        return self._entries[key].tries

    def log_level(self, *, is_last: bool) -> int:
        """Return at which level a try that failed is logged: the last ones stand out, but not those of a flood."""
        return logging.WARNING if is_last and self.skipped <= MAX_TOLD else logging.DEBUG

    def remove(self, key: Hashable) -> None:
        """Forget one that is done, or is no more."""
        self._entries.pop(key, None)

    def remove_if(self, is_gone: Callable[[T], bool]) -> None:
        """Forget those that are no more."""
        gone = [key for key, it in self._entries.items() if is_gone(it.item)]
        for key in gone:
            del self._entries[key]
