"""Interface between the server and the application: handlers, pages, client connections."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Final, Literal, Protocol, Self, TypeAlias, TypeVar

from entresol.server.responses import HttpResponse

_T = TypeVar("_T")

PageResponse: TypeAlias = tuple[int, str, bytes]
"""Status, content type and body."""
Page: TypeAlias = Callable[[], PageResponse | Awaitable[PageResponse]]
"""Responds to a `GET`, at once or through an awaitable."""
PageTree: TypeAlias = Callable[[str], Page]
"""Returns the page of a target below a path: what follows the path, with the query."""


class Outbox(Protocol):
    """Where documents are pushed to a client."""

    def send(self, data: bytes) -> bool:
        """Push a document, now or later, and return whether it was accepted."""
        ...


class ClientConnection(Protocol):
    """A client's connection, as a handler sees it.

    `path`, `host` and `is_foreign` are those of the request being handled; on HTTP they do not change before its response is sent.
    """

    @property
    def transport(self) -> Literal["http", "ws", "ipc", "local"]:
        """Return how the client is connected; `local` is a caller in this process."""
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
        """Return the request's `Host` header; empty if there is none."""
        ...

    @property
    def is_foreign(self) -> bool:
        """Return whether the request is of a web page of another origin, which `--cors-origins` does not name."""
        ...

    @property
    def closed(self) -> bool:
        """Return whether nothing can be sent any more."""
        ...

    def send(self, data: bytes) -> bool:
        """Push a document to a WebSocket or an IPC client, and return whether it was accepted.

        A client that does not read what it is sent is disconnected; later documents are not accepted.
        """
        ...

    def outbox(self) -> Outbox:
        """Return where to push what must not arrive before the response to the request being handled."""
        ...

    def disconnect(self, reason: str) -> None:
        """Close a WebSocket or an IPC connection that takes too much of what others need, and say why."""
        ...

    def on_close(self, callback: Callable[[], object]) -> None:
        """Call `callback` once when the connection has closed; at once if it has."""
        ...


class LocalConnection:
    """A `ClientConnection` without a socket: nothing can be sent to it, and it never closes."""

    transport: Final = "local"
    peer: str = "local"
    host: Final = ""
    is_foreign: bool = False
    closed: bool = False

    def __init__(self, path: str = "/") -> None:
        self.path = path

    def send(self, data: bytes) -> bool:  # noqa: ARG002 - the interface has it
        """Drop the message."""
        return False

    def outbox(self) -> Self:
        """Return what drops messages, too."""
        return self

    def disconnect(self, reason: str) -> None:
        """Ignore the reason: there is no connection."""

    def on_close(self, callback: Callable[[], object]) -> None:
        """Ignore the callback: the connection never closes."""


Handler: TypeAlias = Callable[[bytes, ClientConnection], bytes | Awaitable[bytes | None] | None]
"""Handles one document and returns the response document; None if there is none.

Bytes are written before control returns to the event loop. An awaitable is awaited, and later requests of the same HTTP
connection stay pending until then, because responses are sent in order.
"""
OnRejection: TypeAlias = Callable[[HttpResponse, ClientConnection], object]
"""Is called for each request that was rejected before it reached a handler, also in a flood of them."""


async def completed(response: _T | Awaitable[_T]) -> _T:
    """Return a response that a handler or a page has returned: itself, or what its awaitable gives."""
    return await response if inspect.isawaitable(response) else response


class PathRouter:
    """A handler that passes documents on, by the path of their request.

    Remembers: the routes.
    """

    def __init__(self, default: Handler) -> None:
        self._default = default
        self._routes: dict[str, Handler] = {}

    def add(self, path: str, handler: Handler) -> None:
        """Pass the documents of `path` to `handler`."""
        self._routes[path] = handler

    def __call__(
        self, body: bytes, connection: ClientConnection
    ) -> bytes | Awaitable[bytes | None] | None:
        """Handle `body`."""
        return self._routes.get(connection.path, self._default)(body, connection)
