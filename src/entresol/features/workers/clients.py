"""Clients whose requests a worker passes on to its producer, as either process sees them."""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Final, Self
from weakref import WeakSet

from entresol.features.workers.channel import (
    CLUSTER,
    Channel,
    WorkerCall,
    WorkerMessage,
    client_number,
    decode_page,
)
from entresol.server.handler import ClientConnection, Handler, LocalConnection, PageResponse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

NUMBER_BYTES: Final = 8
NO_NUMBER: Final = bytes(NUMBER_BYTES)


class RemoteClient:
    """A WebSocket of a worker, as a handler of the producer sees it."""

    transport: Final = "ws"
    peer: Final = "worker"
    host: Final = ""
    is_foreign: Final = False

    def __init__(self, clients: RemoteClients, number: int, path: str) -> None:
        self.number = number
        self.path = path
        self.closed = False
        self.callbacks: list[Callable[[], object]] = []
        self._clients = clients

    def send(self, data: bytes) -> bool:
        """Push a document through the worker."""
        return not self.closed and self._clients.push(self.number, data)

    def outbox(self) -> Self:
        """Return itself: such a client is another node, which knows what it is sent."""
        return self

    def disconnect(self, reason: str) -> None:
        """Ignore the reason: a worker limits its own clients."""

    def on_close(self, callback: Callable[[], object]) -> None:
        """Call `callback` when the client or its worker is gone."""
        if self.closed:
            callback()
            return
        self.callbacks.append(callback)
        self._clients.watch(self)


class RemoteClients:
    """The clients of one worker whose end has a callback.

    Remembers: those clients. Assumes: the worker reports a client's end after its last request.
    """

    def __init__(self, push: Callable[[int, bytes], bool]) -> None:
        self.push = push
        """Push a document to the client with a number, and return whether the worker takes it."""
        self._watched: dict[int, RemoteClient] = {}

    def __len__(self) -> int:
        return len(self._watched)

    def get(self, number: int, path: str) -> RemoteClient:
        """Return the client with a number; the worker gives no number twice."""
        return self._watched.get(number) or RemoteClient(self, number, path)

    def watch(self, client: RemoteClient) -> None:
        """Note a client until its end."""
        self._watched[client.number] = client

    def close(self, number: int) -> None:
        """Note the end of a client."""
        client = self._watched.pop(number, None)
        if client is not None:
            client.closed = True
            for callback in client.callbacks:
                callback()

    def close_all(self) -> None:
        """Note the end of the worker."""
        for number in tuple(self._watched):
            self.close(number)


class ForwardedClient(LocalConnection):
    """A client of a worker, as a handler of the producer sees it: what is pushed to it, its worker pushes."""

    def __init__(self, peer: str) -> None:
        super().__init__()
        self.peer = peer
        """The address from which it has reached its worker."""
        self._callbacks: list[Callable[[], object]] = []

    def on_close(self, callback: Callable[[], object]) -> None:
        """Call `callback` when the client or its worker is gone."""
        if self.closed:
            callback()
        else:
            self._callbacks.append(callback)

    def close(self) -> None:
        """Note its end."""
        self.closed = True
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()


class ForwardedClients:
    """The clients of one worker that have sent a request which it forwards.

    Remembers: those clients. Assumes: the worker reports a client's end after its last request.
    """

    def __init__(self) -> None:
        self._clients: dict[int, ForwardedClient] = {}

    def __len__(self) -> int:
        return len(self._clients)

    def begin(self, number: int, address: str) -> None:
        """Note the address of a client that comes."""
        if number not in self._clients:
            self._clients[number] = ForwardedClient(address)

    def get(self, number: int) -> ForwardedClient:
        """Return the client with a number, the same until its end."""
        client = self._clients.get(number)
        if client is None:
            client = self._clients[number] = ForwardedClient("worker")
        return client

    def close(self, number: int) -> None:
        """Note the end of a client."""
        client = self._clients.pop(number, None)
        if client is not None:
            client.close()

    def close_all(self) -> None:
        """Note the end of the worker."""
        for number in tuple(self._clients):
            self.close(number)


class _WebSocket:
    """A client to which the producer may push."""

    def __init__(self, number: int, connection: ClientConnection) -> None:
        self.number = number
        self.connection = connection
        self.calls = 0
        """Requests that the producer has not responded to."""


class ClusterRequests:
    """Passes requests to the paths of a cluster on to the producer, and what it pushes back to WebSockets.

    Remembers: WebSockets that have sent such a request. Assumes: one event loop. Fails: as the channel.
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


class ChannelUpstream:
    """The way of a worker to its producer, for one layer.

    Remembers: the clients for which it has forwarded something. Assumes: one event loop. Fails: as the channel does.
    """

    def __init__(self, channel: Channel, layer: int, catch_up: Callable[[], None]) -> None:
        """Forward over `channel`; `catch_up` applies what the producer has announced."""
        self._channel = channel
        self._layer = layer
        self._forwarded: WeakSet[ClientConnection] = WeakSet()
        self.catch_up = catch_up

    def forward(
        self,
        body: bytes,
        connection: ClientConnection,
        *,
        waits: bool,  # noqa: ARG002 - the channel waits longer than any method
        ordered: bool,  # noqa: ARG002 - the channel keeps the order of all
    ) -> Awaitable[bytes | None]:
        """Return the producer's response."""
        if connection not in self._forwarded:
            self._forwarded.add(connection)
            number = client_number(connection)
            self._channel.begin_client(number, connection.peer)
            connection.on_close(partial(self._channel.end_client, number))
        payload = bytes([WorkerCall.REQUEST, self._layer]) + body
        return self._channel.call(payload, client=connection)

    async def page(self, path: str) -> PageResponse:
        """Return a page of the whole node."""
        payload = bytes([WorkerCall.PAGE, self._layer]) + path.encode()
        return decode_page(await self._channel.call(payload) or b"")
