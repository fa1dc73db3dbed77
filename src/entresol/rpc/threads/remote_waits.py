"""How many requests wait on the event loop for values of a fork's remote."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from entresol.errors import TooManyLongCalls
from entresol.rpc.threads.client_threads import MAX_CLIENTS_QUEUED, MAX_QUEUED_CALLS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.server.handler import ClientConnection


class RemoteWaits:
    """Counts the requests that wait, since over one connection any number may be sent before the first has a response.

    Remembers: how many each connection has, and all together. Persists: nothing. Assumes: one event loop. Fails: with
    `TooManyLongCalls`.
    """

    def __init__(self, max_each: int = MAX_QUEUED_CALLS) -> None:
        self._max_each = max_each
        self._max_all = MAX_CLIENTS_QUEUED * max_each
        self._all = 0
        self._each: WeakKeyDictionary[ClientConnection, int] = WeakKeyDictionary()

    @contextmanager
    def held(self, client: ClientConnection) -> Iterator[None]:
        """Count a request of a client meanwhile; raise if it has too many, or if all together have."""
        count = self._each.get(client, 0)
        if count >= self._max_each:
            raise TooManyLongCalls(self._max_each)
        if self._all >= self._max_all:
            raise TooManyLongCalls(self._max_all, " for all clients together")
        self._each[client] = count + 1
        self._all += 1
        try:
            yield
        finally:
            self._all -= 1
            self._each[client] -= 1
