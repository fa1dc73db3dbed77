"""Share the event loop among connections that have sent more than one request or frame at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from time import perf_counter
from typing import Final, Protocol

TURN_SECONDS: Final = 0.002
"""Time for all backlogs together in one turn of the event loop: what any other client may wait for them."""
SLICE_SECONDS: Final = 0.0005
"""Time for one connection before the next one is served."""
READ_SECONDS: Final = 0.0003
"""What it takes to receive as much of a long body as comes at a time, 256 KiB."""


class Backlogged(Protocol):
    """A connection with bytes or requests that it has not served yet."""

    def serve_backlog(self, until: float) -> bool:
        """Serve the backlog until the time `until` of `perf_counter`; return whether to call this again."""
        ...


class RoundRobin:
    """Serves backlogs in slices, one connection after another, and few slices in one turn of the event loop.

    A connection serves the first request of what it receives at once, and the rest through here. So a client that
    sends one request at a time waits at most for one turn, whatever others have sent.

    Remembers: connections with a backlog. Persists: nothing. Assumes: that each adds itself once, until it returns
    False. Fails: never; what a connection raises goes to the handler of the loop's exceptions.
    """

    def __init__(self) -> None:
        self._connections: deque[Backlogged] = deque()
        self._scheduled = False
        self._end = 0.0

    def __len__(self) -> int:
        return len(self._connections)

    def add(self, connection: Backlogged) -> None:
        """Serve the backlog of `connection` from the next turn on."""
        self._connections.append(connection)
        self._schedule()

    def charge(self, seconds: float) -> None:
        """Count work towards this turn that is done right after it, because a connection is read again."""
        self._end -= seconds

    def _schedule(self) -> None:
        if self._connections and not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._serve_turn)

    def _serve_turn(self) -> None:
        self._scheduled = False
        now = perf_counter()
        self._end = now + TURN_SECONDS
        try:
            while self._connections and now < self._end:
                connection = self._connections.popleft()
                if connection.serve_backlog(min(now + SLICE_SECONDS, self._end)):
                    self._connections.append(connection)
                now = perf_counter()
        finally:
            self._schedule()
