"""Bound the unsent bytes of all connections together."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable
from typing import Final, Protocol

CHECKS_PER_LIMIT: Final = 64
"""A check is due after so small a part of the limit was written; by that much it can be exceeded."""


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
        unsent = ((it, it.unsent) for it in self._connections)
        self._at_last_sweep = {it: size for it, size in unsent if size}

    def _check(self) -> None:
        total = sum(it.unsent for it in self._connections)
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
