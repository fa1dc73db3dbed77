"""The way from a replica to its producer: an interface, and the channel of a worker."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol
from weakref import WeakSet

from entresol.replication.workers.channel import client_number
from entresol.replication.workers.messages import WorkerCall, decode_page

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from entresol.replication.workers.channel import Channel
    from entresol.server.handler import ClientConnection, PageResponse


class Upstream(Protocol):
    """The way from a replica to its producer."""

    def forward(
        self, body: bytes, connection: ClientConnection, *, waits: bool
    ) -> Awaitable[bytes | None]:
        """Return the producer's response to a request or a batch; raise `ProducerUnavailable` without one."""

    def catch_up(self) -> None:
        """Apply what the producer has announced."""


class ChannelUpstream:
    """The way of a worker to its producer, for one layer.

    Remembers: the clients for which it has forwarded something. Persists: nothing. Assumes: one event loop. Fails: as
    the channel does.
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
