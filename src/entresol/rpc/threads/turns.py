"""Queued work of clients, in turns: the client that was served for the shortest time is next."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

CHARGED_SECONDS: Final = 1.0
"""The seconds that a client is charged while its work runs; how long it really takes is known at the end."""

_numbers = count(1)


class _Share:
    """For how long somebody was served."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.entry = 0
        """The number of its entry in the order; 0 if it is not in it."""


S = TypeVar("S", bound=_Share)


class _Order(Generic[S]):
    """Those who are ready to be served, the one who was served for the shortest time first."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, S]] = []
        self._last = 0.0
        self.size = 0

    def put(self, share: S) -> None:
        """Put somebody in their place, or in another one after their time has changed."""
        self.size += not share.entry
        share.entry = next(_numbers)
        heappush(self._heap, (share.seconds, share.entry, share))

    def welcome(self, share: S) -> None:
        """Let somebody who comes back begin like the others: time without work is not saved up."""
        share.seconds = max(share.seconds, self._last)

    def take(self) -> S:
        """Take out who is next."""
        while True:
            seconds, entry, share = heappop(self._heap)
            if entry == share.entry:
                self._last = max(self._last, seconds)
                share.entry = 0
                self.size -= 1
                return share

    def remove(self, share: S) -> None:
        """Take somebody out."""
        self.size -= bool(share.entry)
        share.entry = 0


class ClientLine(_Share, Generic[T]):
    """The queue of one client."""

    def __init__(self, address: ClientAddress[T]) -> None:
        super().__init__()
        self.address = address
        self.queued: deque[T] = deque()
        self.running = 0


class ClientAddress(_Share, Generic[T]):
    """The clients of one address."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: _Order[ClientLine[T]] = _Order()
        self.running = 0
        self.queued = 0
        """How much all of them have queued."""


class ClientTurns(Generic[T]):
    """The queues of all clients. Addresses take turns, and so do the clients of an address.

    Remembers: what is queued; who uses it remembers the lines. Assumes: one thread at a time, and
    that `end` follows each `take`. Fails: never.
    """

    def __init__(self, max_running: int) -> None:
        self._max_running = max_running
        self._addresses: _Order[ClientAddress[T]] = _Order()
        self.queued = 0
        """How much all clients have queued."""

    def add(self, line: ClientLine[T], item: T) -> None:
        """Queue what a client wants."""
        address = line.address
        if not line.queued and not line.running:
            if not address.lines.size and not address.running:
                self._addresses.welcome(address)
            address.lines.welcome(line)
        line.queued.append(item)
        self._count(address, 1)
        self._place(line)

    def take(self) -> tuple[ClientLine[T], T] | None:
        """Return what is next, and whose it is; None if nobody waits who may have more."""
        if not self._addresses.size:
            return None
        line = self._addresses.take().lines.take()
        item = line.queued.popleft()
        self._count(line.address, -1)
        self._charge(line, CHARGED_SECONDS, running=1)
        return line, item

    def end(self, line: ClientLine[T], seconds: float) -> None:
        """Note that what was taken has ended, and how long it took."""
        self._charge(line, seconds - CHARGED_SECONDS, running=-1)

    def drop(self, line: ClientLine[T], is_dropped: Callable[[T], bool]) -> list[T]:
        """Remove what a client has queued and does not need, and return it."""
        dropped = [item for item in line.queued if is_dropped(item)]
        line.queued = deque(item for item in line.queued if not is_dropped(item))
        self._count(line.address, -len(dropped))
        self._place(line)
        return dropped

    def drop_last(self, line: ClientLine[T]) -> T:
        """Remove what a client has queued last, and return it."""
        item = line.queued.pop()
        self._count(line.address, -1)
        self._place(line)
        return item

    def _count(self, address: ClientAddress[T], more: int) -> None:
        address.queued += more
        self.queued += more

    def _charge(self, line: ClientLine[T], seconds: float, *, running: int) -> None:
        for share in (line, line.address):
            share.seconds += seconds
            share.running += running
        self._place(line)

    def _place(self, line: ClientLine[T]) -> None:
        """Put a client and its address where they belong now."""
        address = line.address
        if line.queued and line.running < self._max_running:
            address.lines.put(line)
        else:
            address.lines.remove(line)
        if address.lines.size:
            self._addresses.put(address)
        else:
            self._addresses.remove(address)
