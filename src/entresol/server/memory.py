"""Memory that clients take: of requests, of what they have not read, and of what is pushed before its response."""

from __future__ import annotations

import asyncio
import gc
import math
from collections.abc import Callable, Iterable
from time import monotonic
from typing import Final, Protocol

LONG_BYTES: Final = 64 * 1024
"""Shorter requests are not counted: their number is bounded by that of connections."""

COLLECT_BYTES: Final = 256 << 20
"""How many bytes of long requests are received between two collections of garbage."""

FULL_COLLECTION_SECONDS: Final = 10.0
"""The least time between two collections of all garbage."""

CHECKS_PER_LIMIT: Final = 64
"""A check is due after so small a part of the limit was written; by that much it can be exceeded."""


class Holder(Protocol):
    """The connection of the client."""

    def send(self, data: bytes) -> bool:
        """Push a document, and return whether it was accepted."""
        ...

    def hold(self, size: int) -> bool:
        """Count bytes that are to be held, and return whether they may be."""
        ...


class HeldOutbox:
    """Holds documents until `release`, and passes them to the connection from then on.

    Remembers: the documents, as far as the connection accepts them. Persists: nothing.
    """

    __slots__ = ("_connection", "_held", "send", "size")

    def __init__(self, connection: Holder) -> None:
        self._connection = connection
        self._held: list[bytes] = []
        self.size = 0
        """How many bytes are held."""
        # Replaced by the connection's own, which takes no call more.
        self.send: Callable[[bytes], bool] = self._hold

    def release(self) -> None:
        """Send what is held, in order."""
        self.send = self._connection.send
        held, self._held = self._held, []
        for data in held:
            self.send(data)

    def _hold(self, data: bytes) -> bool:
        if not self._connection.hold(len(data)):
            return False
        self._held.append(data)
        self.size += len(data)
        return True


class RequestBytes:
    """Counts the bytes of long requests, from the first one received until nothing holds the request any more.

    A request that a cycle of references holds counts until the garbage collector has found it. So the collector runs
    after so many bytes, however few objects they are, and before a request is rejected.

    Remembers: the bytes, and rejections. Persists: nothing. Assumes: one event loop. Fails: never.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        """Bytes of long requests that are held now."""
        self.uncollected = 0
        """Bytes of long requests since garbage was collected."""
        self.rejected = 0
        """Requests that were rejected so far."""
        self._next_full_collection = 0.0

    def hold(self, size: int) -> HeldBytes | None:
        """Count bytes of a request until the result is dropped; return None if there is no room for them."""
        held = HeldBytes(self)
        return held if held.grow(size) else None

    def take(self, size: int) -> bool:
        """Count bytes, and return whether there is room for them; a request without room counts as rejected."""
        self._collect_after(size)
        if self.used + size > self.limit and not self._has_room_after_collection(size):
            self.rejected += 1
            return False
        self.used += size
        return True

    def _collect_after(self, size: int) -> None:
        self.uncollected += size
        if self.uncollected > COLLECT_BYTES:
            self.uncollected = 0
            # Not the oldest objects, which would take long: a request is seldom among them.
            gc.collect(1)

    def _has_room_after_collection(self, size: int) -> bool:
        now = monotonic()
        if now < self._next_full_collection:
            return False
        self._next_full_collection = now + FULL_COLLECTION_SECONDS
        gc.collect()
        return self.used + size <= self.limit


class HeldBytes:
    """The bytes of one long request. They are free again when nothing refers to this object."""

    __slots__ = ("_requests", "size")

    def __init__(self, requests: RequestBytes) -> None:
        self._requests = requests
        self.size = 0

    def grow(self, size: int) -> bool:
        """Count more bytes, and return whether there is room for them."""
        if not self._requests.take(size):
            return False
        self.size += size
        return True

    def __del__(self) -> None:
        self._requests.used -= self.size


class Writer(Protocol):
    """A connection, as far as its unsent bytes are concerned."""

    @property
    def unsent(self) -> int:
        """Return the number of bytes that were written, or are held to be written, and not sent."""
        ...

    def drop(self) -> None:
        """Close now, because the client does not read what it is sent."""
        ...


class UnsentBytes:
    """Drops connections when the unsent bytes of all exceed a limit: first those that do not read, then the greediest.

    The bytes of a connection are only known to its transport. Summing them up after each write would take too long, so
    a check is due when the bytes written since the last one could have exceeded the limit.

    Remembers: the unsent bytes of each connection at the last sweep. Persists: nothing.
    Assumes: `sweep` is called about once a second. Fails: never.
    """

    def __init__(self, limit: int, connections: Iterable[Writer]) -> None:
        self._limit = limit
        self._connections = connections
        self._at_last_sweep: dict[Writer, int] = {}
        self._written = 0
        self.total = 0
        """Unsent bytes at the last check or sweep."""
        self.dropped = 0
        """Connections dropped so far."""
        self.check_at: float = limit
        """The number of bytes written, since the server started, at which a check is due."""

    def schedule_check(self, written: int) -> None:
        """Check once the current callback has ended; `written` is the number of bytes written so far."""
        self._written = written
        self.check_at = math.inf
        asyncio.get_running_loop().call_soon(self._check)

    def hold(self, size: int, written: int) -> None:
        """Count bytes that a connection holds to write them later."""
        self.check_at -= size
        if written >= self.check_at:
            self.schedule_check(written)

    def sweep(self, written: int) -> None:
        """Check, and remember how much each connection has unsent."""
        self._written = written
        self._check()
        unsent = ((connection, connection.unsent) for connection in self._connections)
        self._at_last_sweep = {it: size for it, size in unsent if size}

    def _check(self) -> None:
        total = sum(connection.unsent for connection in self._connections)
        # Other threads read it, so it is assigned only when the limit holds.
        self.total = total if total <= self._limit else self._drop_greediest()
        room = max(self._limit - self.total, self._limit // CHECKS_PER_LIMIT, 1)
        self.check_at = self._written + room

    def _drop_greediest(self) -> int:
        """Drop connections until the limit holds; return what the others have unsent."""
        sizes = {it: size for it in self._connections if (size := it.unsent)}
        total = sum(sizes.values())
        for connection in sorted(sizes, key=lambda it: (not self._is_stalled(it), -sizes[it])):
            if total <= self._limit:
                break
            connection.drop()
            self.dropped += 1
            total -= sizes[connection]
        return total

    def _is_stalled(self, connection: Writer) -> bool:
        """Return whether the client has read nothing for a while, as far as that shows."""
        before = self._at_last_sweep.get(connection)
        return before is not None and connection.unsent >= before
