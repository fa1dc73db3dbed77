"""Queued work of clients, in turns: the client that was served for the shortest time is next."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Final, Generic, TypeVar

T = TypeVar("T")

CHARGED_SECONDS: Final = 1.0
"""The seconds that a client is charged while its work runs; how long it really takes is known at the end."""

_numbers = count(1)


class ClientLine(Generic[T]):
    """The queue of one client, and for how long it was served."""

    def __init__(self) -> None:
        self.queued: deque[T] = deque()
        self.running = 0
        self.seconds = 0.0
        self.entry = 0
        """The number of its entry in the order; 0 if it is not in it."""


class ClientTurns(Generic[T]):
    """The queues of all clients, which take turns.

    Remembers: what is queued; who uses it remembers the lines. Assumes: one thread at a time, and that `end` follows
    each `take`.
    """

    def __init__(self, max_running: int) -> None:
        self._max_running = max_running
        self._order: list[tuple[float, int, ClientLine[T]]] = []
        self._last = 0.0
        self.queued = 0
        """How much all clients have queued."""

    def add(self, line: ClientLine[T], item: T) -> None:
        """Queue what a client wants."""
        if not line.queued and not line.running:
            # Time without work is not saved up.
            line.seconds = max(line.seconds, self._last)
        line.queued.append(item)
        self.queued += 1
        self._place(line)

    def take(self) -> tuple[ClientLine[T], T] | None:
        """Return what is next, and whose it is; None if nobody waits who may have more."""
        while self._order:
            seconds, entry, line = heappop(self._order)
            if entry == line.entry:
                self._last = max(self._last, seconds)
                item = line.queued.popleft()
                self.queued -= 1
                line.running += 1
                self._charge(line, CHARGED_SECONDS)
                return line, item
        return None

    def end(self, line: ClientLine[T], seconds: float) -> None:
        """Note that what was taken has ended, and how long it took."""
        line.running -= 1
        self._charge(line, seconds - CHARGED_SECONDS)

    def drop(self, line: ClientLine[T], is_dropped: Callable[[T], bool]) -> list[T]:
        """Remove what a client has queued and does not need, and return it."""
        dropped = [item for item in line.queued if is_dropped(item)]
        line.queued = deque(item for item in line.queued if not is_dropped(item))
        self.queued -= len(dropped)
        self._place(line)
        return dropped

    def drop_last(self, line: ClientLine[T]) -> T:
        """Remove what a client has queued last, and return it."""
        item = line.queued.pop()
        self.queued -= 1
        self._place(line)
        return item

    def _charge(self, line: ClientLine[T], seconds: float) -> None:
        line.seconds += seconds
        self._place(line)

    def _place(self, line: ClientLine[T]) -> None:
        """Put a client where it belongs in the order, if it may have more; its earlier entry no longer counts."""
        line.entry = 0
        if line.queued and line.running < self._max_running:
            line.entry = next(_numbers)
            heappush(self._order, (line.seconds, line.entry, line))
