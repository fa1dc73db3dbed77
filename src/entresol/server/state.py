"""What all connections of one server share."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol

from entresol.server.config import ServerConfig
from entresol.server.connection import Counters, Handler, OnRejection, Page
from entresol.server.head_cache import HeadCache
from entresol.server.limits import HostCheck, OriginCheck, RequestRate


class ServedConnection(Protocol):
    """A connection, as the listener sees it."""

    deadline: float
    """When `expire` is due, in the event loop's time."""

    def expire(self) -> None:
        """Do what is due when the client has taken too long."""
        ...

    def stop(self) -> None:
        """Close as soon as the answers under way are sent."""
        ...

    def abort(self) -> None:
        """Close now, and cancel what is under way."""
        ...


class ServerState:
    """The handler, the limits, the counters and the open connections of one server."""

    def __init__(
        self,
        handler: Handler,
        config: ServerConfig,
        pages: Mapping[str, Page],
        on_rejection: OnRejection | None = None,
    ) -> None:
        self.handler = handler
        self.config = config
        self.pages = pages
        self.on_rejection = on_rejection
        self.counters = Counters()
        self.hosts = HostCheck(config)
        self.origins = OriginCheck(config)
        self.heads = HeadCache()
        self.open: set[ServedConnection] = set()
        self._empty = asyncio.Event()
        self._empty.set()
        self.stopping = False
        self.loop: asyncio.AbstractEventLoop

    def enter(self, connection: ServedConnection) -> None:
        """Count a new connection."""
        self.open.add(connection)
        self._empty.clear()
        self.counters.connections_open += 1
        self.counters.connections_total += 1

    def replace(self, old: ServedConnection, new: ServedConnection) -> None:
        """Let `new` stand for the same client from now on."""
        self.open.discard(old)
        self.open.add(new)

    def leave(self, connection: ServedConnection) -> None:
        """Forget a connection that is gone."""
        self.open.discard(connection)
        self.counters.connections_open -= 1
        if not self.open:
            self._empty.set()

    async def wait_empty(self) -> None:
        """Wait until no connection is open."""
        await self._empty.wait()

    def rate(self) -> RequestRate | None:
        """Return a new connection's share of requests, if that is limited."""
        per_second = self.config.requests_per_second
        return RequestRate(per_second, self.loop.time()) if per_second else None


def address_of(transport: asyncio.BaseTransport) -> str:
    """Return the address at the other end."""
    name = transport.get_extra_info("peername")
    return f"{name[0]}:{name[1]}" if isinstance(name, tuple) else ""
