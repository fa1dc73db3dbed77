"""What the server and the rest see of each other: handlers, pages, connections, counters."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from entresol.server.responses import HttpResponse

Page: TypeAlias = Callable[[], tuple[int, str, bytes]]
"""Answers a `GET`: status, content type, body."""


class Connection(Protocol):
    """A client, as a handler sees it.

    `path` and `host` are those of the request being handled; on HTTP they stay as they are until it is answered.
    """

    @property
    def transport(self) -> Literal["http", "ws"]:
        """Tell how the client is connected."""
        ...

    @property
    def peer(self) -> str:
        """Return the client's address."""
        ...

    @property
    def path(self) -> str:
        """Return the request's path, without its query."""
        ...

    @property
    def host(self) -> str:
        """Return the request's `Host` header, or nothing."""
        ...

    @property
    def closed(self) -> bool:
        """Tell whether nothing can be sent any more."""
        ...

    def send(self, data: bytes) -> bool:
        """Push a document to a WebSocket, and tell whether it was taken.

        A client that does not read what it is sent is closed, and takes nothing from then on.
        """
        ...

    def on_close(self, callback: Callable[[], object]) -> None:
        """Call `callback` once when the connection is gone; at once if it is."""
        ...


class Handler(Protocol):
    """Answers one JSON-RPC document, a single request or a batch; None if there is nothing to say.

    Bytes are written before the call returns to the event loop. An awaitable is awaited, and later
    requests of the same HTTP connection wait for it, because their answers come after its own.
    """

    def __call__(
        self, body: bytes, connection: Connection
    ) -> bytes | Awaitable[bytes | None] | None:
        """Answer `body`."""
        ...


class OnRejection(Protocol):
    """Hears of a request that was rejected before any handler saw it.

    A flood of them is heard one by one, so whoever listens takes care of how much is made of it.
    """

    def __call__(self, reply: HttpResponse, connection: Connection) -> object:
        """Take note of what `connection` was told."""
        ...


class Counters:
    """What has happened since the server was made."""

    __slots__ = (
        "bytes_received",
        "bytes_sent",
        "connections_open",
        "connections_refused",
        "connections_total",
        "requests_total",
        "websockets_open",
        "websockets_total",
    )

    def __init__(self) -> None:
        self.bytes_received = 0
        self.bytes_sent = 0
        self.connections_open = 0
        self.connections_refused = 0
        self.connections_total = 0
        self.requests_total = 0
        self.websockets_open = 0
        self.websockets_total = 0


class CloseCallbacks:
    """The callbacks that wait for one connection's end."""

    __slots__ = ("_callbacks", "closed")

    def __init__(self) -> None:
        self.closed = False
        self._callbacks: list[Callable[[], object]] = []

    def add(self, callback: Callable[[], object]) -> None:
        """Call `callback` at the end, or now if that is past."""
        if self.closed:
            callback()
        else:
            self._callbacks.append(callback)

    def run(self) -> None:
        """Call all callbacks, once."""
        self.closed = True
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()
