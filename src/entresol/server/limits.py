"""Bounds of what clients may take: memory, requests a second, and turns of the event loop."""

from __future__ import annotations

import asyncio
import gc
import math
import resource
from collections import deque
from collections.abc import Callable, Iterable
from time import monotonic, perf_counter
from typing import Final, Protocol

LONG_BYTES: Final = 64 * 1024
"""Shorter requests are not counted: their number is bounded by that of connections."""

COLLECT_BYTES: Final = 256 << 20
"""How many bytes of long requests are received between two collections of garbage."""

FULL_COLLECTION_SECONDS: Final = 10.0
"""The least time between two collections of all garbage."""

CHECKS_PER_LIMIT: Final = 64
"""A check is due after so small a part of the limit was written; by that much it can be exceeded."""

SPARE_FILES = 256
TURN_SECONDS: Final = 0.002
"""Time for all backlogs together in one turn of the event loop: what any other client may wait for them."""
SLICE_SECONDS: Final = 0.0005
"""Time for one connection before the next one is served."""
READ_SECONDS: Final = 0.0003
"""The time to receive as much of a long body as comes at a time, 256 KiB."""


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

    Remembers: the documents, as far as the connection accepts them.
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

    Remembers: the bytes, and rejections. Assumes: one event loop.
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

    Remembers: the unsent bytes of each connection at the last sweep. Assumes: `sweep` is called about once a second.
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
        self._at_last_sweep = {connection: size for connection, size in unsent if size}

    def _check(self) -> None:
        total = sum(connection.unsent for connection in self._connections)
        # Other threads read it, so it is assigned only when the limit holds.
        self.total = total if total <= self._limit else self._drop_greediest()
        room = max(self._limit - self.total, self._limit // CHECKS_PER_LIMIT, 1)
        self.check_at = self._written + room

    def _drop_greediest(self) -> int:
        """Drop connections until the limit holds; return what the others have unsent."""
        sizes = {
            connection: size for connection in self._connections if (size := connection.unsent)
        }
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


class RequestRate:
    """Token bucket of one connection's requests."""

    __slots__ = ("_per_second", "_tokens", "_updated_at")

    def __init__(self, per_second: float, now: float) -> None:
        self._per_second = per_second
        self._tokens = max(per_second, 1.0)
        self._updated_at = now

    def allows(self, now: float) -> bool:
        """Return whether one more request is allowed, and count it if so."""
        earned = (now - self._updated_at) * self._per_second
        self._tokens = min(self._tokens + earned, max(self._per_second, 1.0))
        self._updated_at = now
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True


def allow_open_files(connections: int) -> int:
    """Raise the limit of open files for so many connections, as far as the system allows, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + SPARE_FILES
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return soft
    soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft


class RoundRobin:
    """Serves backlogs in slices, one connection after another, and few slices in one turn of the event loop.

    A connection serves the first request of what it receives at once, and the rest through here. So a client that
    sends one request at a time waits at most for one turn, whatever others have sent.

    Remembers: connections with a backlog. Assumes: that each adds itself once, until it returns False. Fails: never;
    what a connection raises goes to the handler of the loop's exceptions.
    """

    def __init__(self) -> None:
        self._backlogs: deque[Callable[[float], bool]] = deque()
        self._scheduled = False
        self._end = 0.0

    def __len__(self) -> int:
        return len(self._backlogs)

    def add(self, serve: Callable[[float], bool]) -> None:
        """Serve a backlog from the next turn on: until a time of `perf_counter`, again as long as it returns True."""
        self._backlogs.append(serve)
        self._schedule()

    def charge(self, seconds: float) -> None:
        """Count work towards this turn that is done right after it, because a connection is read again."""
        self._end -= seconds

    def _schedule(self) -> None:
        if self._backlogs and not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._serve_turn)

    def _serve_turn(self) -> None:
        self._scheduled = False
        now = perf_counter()
        self._end = now + TURN_SECONDS
        try:
            while self._backlogs and now < self._end:
                serve = self._backlogs.popleft()
                if serve(min(now + SLICE_SECONDS, self._end)):
                    self._backlogs.append(serve)
                now = perf_counter()
        finally:
            self._schedule()
