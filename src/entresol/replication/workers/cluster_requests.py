"""What other nodes of a cluster send to a worker: its producer handles it, since they cannot choose the process."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final

from entresol.replication.workers.messages import CLUSTER, WorkerCall, WorkerMessage

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from entresol.replication.workers.channel import Channel
    from entresol.server.handler import ClientConnection, Handler

NUMBER_BYTES: Final = 8
NO_NUMBER: Final = bytes(NUMBER_BYTES)


class _WebSocket:
    """A client to which the producer may push."""

    def __init__(self, number: int, connection: ClientConnection) -> None:
        self.number = number
        self.connection = connection
        self.calls = 0
        """Requests that the producer has not responded to."""


class ClusterRequests:
    """Passes requests to the paths of a cluster on to the producer, and what it pushes back to WebSockets.

    Remembers: WebSockets that have sent such a request. Persists: nothing. Assumes: one event loop. Fails: as the
    channel.
    """

    def __init__(self, path: str, channel: Channel) -> None:
        self._path = path
        self._channel = channel
        self._numbers = count(1)
        self._by_number: dict[int, _WebSocket] = {}
        self._by_connection: dict[ClientConnection, _WebSocket] = {}

    def wrap(self, handler: Handler) -> Handler:
        """Return a handler around that of all other requests."""

        def handle(
            body: bytes, connection: ClientConnection
        ) -> bytes | Awaitable[bytes | None] | None:
            if not connection.path.startswith(self._path):
                return handler(body, connection)
            if connection.transport == "ws":
                return self._pass_message(body, connection)
            return self._pass(NO_NUMBER, body, connection)

        return handle

    def push(self, payload: bytes) -> None:
        """Push a document of the producer to a WebSocket, if it is still there."""
        number = int.from_bytes(payload[:NUMBER_BYTES])
        client = self._by_number.get(number)
        if client is not None:
            client.connection.send(payload[NUMBER_BYTES:])

    def _pass(
        self, number: bytes, body: bytes, connection: ClientConnection
    ) -> Awaitable[bytes | None]:
        payload = bytes([WorkerCall.REQUEST, CLUSTER]) + number + connection.path.encode() + b"\n"
        return self._channel.call(payload + body, client=connection)

    async def _pass_message(self, body: bytes, connection: ClientConnection) -> bytes | None:
        client = self._by_connection.get(connection) or self._add(connection)
        client.calls += 1
        try:
            number = client.number.to_bytes(NUMBER_BYTES)
            return await self._pass(number, body, connection)
        finally:
            client.calls -= 1
            self._end(client)

    def _add(self, connection: ClientConnection) -> _WebSocket:
        client = _WebSocket(next(self._numbers), connection)
        self._by_number[client.number] = self._by_connection[connection] = client
        connection.on_close(lambda: self._end(client))
        return client

    def _end(self, client: _WebSocket) -> None:
        """Report the end of a client: after its last request, or the producer would never forget it."""
        if client.calls or not client.connection.closed or client.number not in self._by_number:
            return
        del self._by_number[client.number], self._by_connection[client.connection]
        number = client.number.to_bytes(NUMBER_BYTES)
        self._channel.send(bytes([WorkerMessage.CLIENT_GONE, 0]) + number)
