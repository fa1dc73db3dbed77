"""State that all connections of one server share: handler, settings, counters, open connections."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol

from entresol.server.access_control import HostCheck, OriginCheck
from entresol.server.config import ServerConfig
from entresol.server.handler import Handler, OnRejection, Page, PageTree
from entresol.server.http.request import HeadCache
from entresol.server.limits import RequestBytes, RequestRate, RoundRobin, UnsentBytes, Writer
from entresol.server.pages import StaticFiles, no_files
from entresol.server.responses import DocumentFormat, DocumentRejections


class ServedConnection(Writer, Protocol):
    """A connection, as the server manages it."""

    deadline: float
    """When `expire` is due, in the event loop's time."""

    def expire(self) -> None:
        """Act on a deadline that has passed."""
        ...

    def stop(self) -> None:
        """Close as soon as the responses in progress are sent."""
        ...

    def abort(self) -> None:
        """Close now, and cancel what is in progress."""
        ...


class Counters:
    """Totals since the server was created, and current numbers of connections."""

    __slots__ = (
        "bytes_received",
        "bytes_sent",
        "connections_open",
        "connections_rejected",
        "connections_total",
        "requests_total",
        "websockets_open",
        "websockets_total",
    )

    def __init__(self) -> None:
        self.bytes_received = 0
        self.bytes_sent = 0
        self.connections_open = 0
        self.connections_rejected = 0
        self.connections_total = 0
        self.requests_total = 0
        self.websockets_open = 0
        self.websockets_total = 0


class ServerState:
    """The handler, the settings, the counters and the open connections of one server."""

    def __init__(  # noqa: PLR0913 - independent parts
        self,
        handler: Handler,
        documents: DocumentFormat,
        config: ServerConfig,
        pages: Mapping[str, Page],
        on_rejection: OnRejection | None = None,
        *,
        files: StaticFiles = no_files,
        trees: Mapping[str, PageTree] | None = None,
    ) -> None:
        self.serve(handler, pages, on_rejection, files=files, trees=trees)
        self.config = config
        self.content_types = documents.content_types
        self.internal_error = documents.internal_error
        self.rejections = DocumentRejections(documents, config.body_limit_bytes)
        self.counters = Counters()
        self.hosts = HostCheck(config)
        self.origins = OriginCheck(config)
        self.heads = HeadCache()
        self.backlogs = RoundRobin()
        self.open: set[ServedConnection] = set()
        self.request_bytes = RequestBytes(config.request_limit_bytes)
        self.unsent = UnsentBytes(config.unsent_limit_bytes, self.open)
        self._all_closed = asyncio.Event()
        self._all_closed.set()
        self.stopping = False
        self.loop: asyncio.AbstractEventLoop

    def serve(
        self,
        handler: Handler,
        pages: Mapping[str, Page],
        on_rejection: OnRejection | None = None,
        *,
        files: StaticFiles = no_files,
        trees: Mapping[str, PageTree] | None = None,
    ) -> None:
        """Serve this from the next request on, also on connections that are open."""
        self.handler = handler
        self._pages = pages
        self._trees = trees or {}
        self.files = files
        self.on_rejection = on_rejection

    def page(self, path: str, target: bytes) -> Page | None:
        """Return the page at `path`, or that of the whole target below one; None if there is none."""
        page = self._pages.get(path)
        if page is not None or not self._trees:
            return page
        for start, tree in self._trees.items():
            if path.startswith(start):
                return tree(target.decode("latin-1").removeprefix(start))
        return None

    def add(self, connection: ServedConnection) -> None:
        """Count a new connection."""
        self.open.add(connection)
        self._all_closed.clear()
        self.counters.connections_open += 1
        self.counters.connections_total += 1

    def replace(self, old: ServedConnection, new: ServedConnection) -> None:
        """Replace the connection `old` by `new`, which serves the same client from now on."""
        self.open.discard(old)
        self.open.add(new)

    def remove(self, connection: ServedConnection) -> None:
        """Remove a connection that has closed."""
        self.open.discard(connection)
        self.counters.connections_open -= 1
        if not self.open:
            self._all_closed.set()

    async def wait_closed(self) -> None:
        """Wait until no connection is open."""
        await self._all_closed.wait()

    def new_rate(self) -> RequestRate | None:
        """Return the rate limit of a new connection; None if there is no limit."""
        per_second = self.config.requests_per_second
        return RequestRate(per_second, self.loop.time()) if per_second else None
