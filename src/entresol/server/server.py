"""The server: listening, looking after what takes too long, and stopping."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections.abc import Mapping

from entresol.errors import AddressForbidden, AddressInUse, AddressUnavailable, ListenFailed
from entresol.server.config import ServerConfig
from entresol.server.connection import Counters, Handler, OnRejection, Page
from entresol.server.http import HttpConnection
from entresol.server.state import ServerState

LONGEST_SWEEP_SECONDS = 1.0


class Server:
    """Serves a handler and some pages on one port.

    Remembers: open connections. Persists: nothing.
    Assumes: one event loop, on which it was started. Fails: to start, with a ListenFailed.
    """

    def __init__(
        self,
        handler: Handler,
        config: ServerConfig | None = None,
        pages: Mapping[str, Page] | None = None,
        on_rejection: OnRejection | None = None,
    ) -> None:
        self.config = config or ServerConfig()
        self._service = ServerState(handler, self.config, pages or {}, on_rejection)
        self._listeners: list[asyncio.Server] = []
        self._sweep: asyncio.TimerHandle | None = None
        self.port = self.config.port

    @property
    def counters(self) -> Counters:
        """Return what has happened so far."""
        return self._service.counters

    async def start(self) -> None:
        """Listen. With port 0, `port` is the one that was free."""
        loop = self._service.loop = asyncio.get_running_loop()
        sockets = await self._bind()
        self.port = sockets[0].getsockname()[1]
        for bound in sockets:
            listener = await loop.create_server(
                lambda: HttpConnection(self._service), sock=bound, backlog=self.config.backlog
            )
            self._listeners.append(listener)
        self._look_after()

    async def stop(self, seconds: float | None = None) -> None:
        """Accept nothing more, let answers under way finish in time, and close everything."""
        for listener in self._listeners:
            listener.close()
        self._service.stopping = True
        for connection in tuple(self._service.open):
            connection.stop()
        allowed = self.config.stop_seconds if seconds is None else seconds
        with contextlib.suppress(TimeoutError):
            # Not `wait_for`, which on Python 3.11 can lose a cancellation.
            async with asyncio.timeout(allowed):
                await self._service.wait_empty()
        for connection in tuple(self._service.open):
            connection.abort()
        await self._service.wait_empty()
        if self._sweep is not None:
            self._sweep.cancel()

    async def _bind(self) -> list[socket.socket]:
        host, port = self.config.host, self.config.port
        sockets: list[socket.socket] = []
        try:
            for family, address in await addresses(host, port):
                # A name can stand for two addresses; both get the port that was free for the first.
                port = sockets[0].getsockname()[1] if sockets else port
                sockets.append(listen(family, (address, port)))
        except OSError as error:
            for bound in sockets:
                bound.close()
            raise explained(error, host, port) from error
        return sockets

    def _look_after(self) -> None:
        """Expire connections, all in one place, so that a request costs no timer."""
        loop = self._service.loop
        now = loop.time()
        for connection in tuple(self._service.open):
            if connection.deadline <= now:
                connection.expire()
        self._sweep = loop.call_later(sweep_seconds(self.config), self._look_after)


async def addresses(host: str, port: int) -> list[tuple[int, str]]:
    """Return the address families and addresses that `host` stands for."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return list(dict.fromkeys((family, str(where[0])) for family, _, _, _, where in found))


def listen(family: int, address: tuple[str, int]) -> socket.socket:
    """Return a socket bound to `address`."""
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(address)
        # Bound twice with this option, a port only turns out to be taken when one listens.
        bound.listen()
    except OSError:
        bound.close()
        raise
    return bound


def explained(error: OSError, host: str, port: int) -> ListenFailed:
    """Return the error that says what to do about it."""
    if error.errno == errno.EADDRINUSE:
        return AddressInUse(host, port)
    if error.errno == errno.EACCES:
        return AddressForbidden(host, port)
    return AddressUnavailable(host, error.strerror or str(error))


def sweep_seconds(config: ServerConfig) -> float:
    """Return how often to look, so that no time allowed is overrun by much."""
    shortest = min(
        config.header_seconds,
        config.body_seconds,
        config.idle_seconds,
        config.write_seconds,
        config.linger_seconds,
        config.websocket_ping_seconds,
    )
    return min(shortest / 4, LONGEST_SWEEP_SECONDS)
