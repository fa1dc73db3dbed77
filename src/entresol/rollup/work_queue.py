"""A bounded queue of work towards L1 and other chains: a failure belongs to its item, and the others go on."""

from __future__ import annotations

import itertools
import logging
from collections import Counter
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from entresol.primitives.bounded_map import BoundedMap
from entresol.rollup.step_loop import Backoff

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

MAX_OPEN: Final = 1_000
"""How many of one source are held; what came after them is read once there is room."""
MAX_TRIES: Final = 5
"""After so many an item is given up for now: it waits for as long as it has failed, or until something has changed."""
MAX_TOLD: Final = 100
"""How many that were given up are in the log; the metrics count all of them."""
MAX_DELAY: Final = 1_800.0
RETRY: Final = Backoff(0.5, MAX_DELAY)

K = TypeVar("K", bound="Hashable")
T = TypeVar("T")


class _Entry(Generic[T]):
    __slots__ = ("due", "is_taken", "item", "pause", "reason", "sender", "source", "tried", "tries")

    def __init__(self, item: T, source: Hashable, sender: Hashable) -> None:
        self.item = item
        self.source = source
        self.sender = sender
        self.tries = 0
        self.tried = 0
        """The number of its last try, among those of the queue."""
        self.due = 0.0
        self.pause = 0.0
        self.reason: str | None = None
        self.is_taken = False


class WorkQueue(Generic[K, T]):
    """Items by their keys. What was never tried goes first, one of each source and of each sender in turn.

    What failed is tried again for ever, after pauses that double. If there is no room, what failed most often leaves,
    and is taken again once its pause is over.
    """

    def __init__(self, *, limit: int = MAX_OPEN, backoff: Backoff = RETRY) -> None:
        self._limit = limit
        self._backoff = backoff
        self._entries: dict[K, _Entry[T]] = {}
        self._held: Counter[Hashable] = Counter()
        self._left: BoundedMap[K, _Entry[T]] = BoundedMap(10 * limit)
        self._look_back_at: dict[Hashable, float] = {}
        self._tried = 0
        self.skipped = 0
        """How many were given up, after some tries or because there was no room."""

    def __len__(self) -> int:
        """Return how many are open."""
        return len(self._entries)

    def __contains__(self, key: K) -> bool:
        """Return whether one is open."""
        return key in self._entries

    def get(self, key: K) -> T | None:
        """Return one that is open."""
        entry = self._entries.get(key)
        return None if entry is None else entry.item

    def sender(self, key: K) -> Hashable:
        """Return who has sent one that is open."""
        return self._entries[key].sender

    def reason(self, key: K) -> str | None:
        """Return why an item has failed when it was last tried; None if it has not."""
        entry = self._entries.get(key) or self._left.get(key)
        return None if entry is None else entry.reason

    @property
    def failing(self) -> list[K]:
        """Items that have failed, and are open."""
        return [key for key, entry in self._entries.items() if entry.reason is not None]

    # What comes, and what goes

    def room(self, source: Hashable = None) -> int:
        """Return how many more of a source it takes."""
        return self._limit - self._held[source]

    def make_room(self, count: int, now: float, source: Hashable = None) -> None:
        """If a source has no room, give up some of it that have failed, so that they do not hold up what comes later."""
        if self.room(source) > 0:
            return
        failed = [
            key
            for key, entry in self._entries.items()
            if entry.source == source and entry.tries and not entry.is_taken
        ]
        failed.sort(key=lambda key: self._entries[key].tries)
        for key in failed[-count:]:
            self._left.put(key, self._entries[key])
            self.skipped += self._entries[key].tries < MAX_TRIES
            self.remove(key)
            self._look_back_at.setdefault(source, now + MAX_DELAY)

    def to_look_back(self, now: float) -> list[Hashable]:
        """Return the sources some of whose items have left so long ago that they may be read again."""
        found = [source for source, at in self._look_back_at.items() if at <= now]
        for source in found:
            del self._look_back_at[source]
        return found

    def add(
        self, key: K, item: T, now: float, *, source: Hashable = None, sender: Hashable = None
    ) -> None:
        """Add an item, unless it is there, or has left and its pause is not over."""
        if key in self._entries:
            return
        entry, left = _Entry(item, source, sender), self._left.get(key)
        if left is not None:
            if left.due > now:
                return
            self._left.pop(key)
            entry.tries, entry.tried = left.tries, left.tried
            entry.pause, entry.reason = left.pause, left.reason
        assert self.room(source) > 0
        self._entries[key] = entry
        self._held[source] += 1

    def remove(self, key: K) -> None:
        """Forget one that is done, or gone."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._held[entry.source] -= 1

    def remove_if(self, is_gone: Callable[[T], bool]) -> None:
        """Forget those that are gone."""
        for key in [key for key, entry in self._entries.items() if is_gone(entry.item)]:
            self.remove(key)

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self._held.clear()
        self._left.clear()
        self._look_back_at.clear()

    # What is tried

    def due(self, now: float) -> Iterator[tuple[K, T]]:
        """Yield what may be tried now: what was never tried first, then what was tried longest ago."""
        ready = [
            item for item in self._entries.items() if item[1].due <= now and not item[1].is_taken
        ]
        ready.sort(key=lambda item: item[1].tried)
        # The sort is stable, and those that were never tried are ranked apart from the others.
        ranked = _in_turns(ready, lambda entry: (not entry.tries, entry.source, entry.sender))
        ranked = _in_turns(ranked, lambda entry: (not entry.tries, entry.source))
        ranked.sort(key=lambda item: item[1].tries > 0)
        yield from ((key, entry.item) for key, entry in ranked)

    def next_due(self, now: float) -> float | None:
        """Return the time at which something may be tried or read that waits for a time later than `now`."""
        waiting = (entry.due for entry in self._entries.values() if not entry.is_taken)
        times = [at for at in itertools.chain(waiting, self._look_back_at.values()) if at > now]
        return min(times, default=None)

    def take(self, key: K) -> None:
        """Try an item: it is not due until it has failed, or is to be tried again."""
        entry = self._entries.get(key)
        if entry is not None:
            entry.is_taken = True

    def retry(self, key: K) -> None:
        """Let an item be tried at once: nothing came of its last try, or the reason of its failure is gone."""
        entry = self._entries.get(key)
        if entry is not None:
            entry.is_taken, entry.due = False, 0.0

    def retry_some(self, count: int) -> None:
        """Let some that have failed be tried at once, those that were tried longest ago: something has changed."""
        failed = [key for key, entry in self._entries.items() if entry.tries and not entry.is_taken]
        failed.sort(key=lambda key: self._entries[key].tried)
        for key in failed[:count]:
            self.retry(key)

    def failed(self, key: K, reason: str, now: float) -> bool:
        """Note that a try has failed, and return whether the item is given up for now."""
        entry = self._entries.get(key)
        if entry is None:
            return False
        self._tried += 1
        first = entry.tries == 0
        entry.pause = self._backoff.first() if first else self._backoff.after(entry.pause)
        entry.tries += 1
        entry.tried = self._tried
        entry.due, entry.reason, entry.is_taken = now + entry.pause, reason, False
        is_given_up = entry.tries == MAX_TRIES
        self.skipped += is_given_up
        return is_given_up

    def log_level(self, *, is_given_up: bool) -> int:
        """Return at which level a try that failed is logged: the last ones stand out, but not those of a flood."""
        return logging.WARNING if is_given_up and self.skipped <= MAX_TOLD else logging.DEBUG


def _in_turns(
    entries: Iterable[tuple[K, _Entry[T]]], group: Callable[[_Entry[T]], Hashable]
) -> list[tuple[K, _Entry[T]]]:
    """Return entries so that one of each group follows another, in the order in which they are."""
    seen: Counter[Hashable] = Counter()
    ranked = []
    for key, entry in entries:
        at = group(entry)
        ranked.append((seen[at], key, entry))
        seen[at] += 1
    ranked.sort(key=lambda item: item[0])
    return [(key, entry) for _, key, entry in ranked]
