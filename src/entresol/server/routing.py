"""Handlers by path: some paths of a server lead to another handler than the rest."""

from __future__ import annotations

from collections.abc import Awaitable

from entresol.server.handler import ClientConnection, Handler


class PathRouter:
    """A handler that passes documents on, by the path of their request.

    Remembers: the routes. Persists: nothing. Assumes: that routes are added before the server starts. Fails: never.
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
