"""The server: listen, expire connections, stop."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections.abc import Mapping
from enum import Enum, auto

from entresol.errors import AddressUnavailable, ListenFailed
from entresol.server.config import ServerConfig
from entresol.server.handler import Handler, OnRejection, Page, PageTree
from entresol.server.http.connection import HttpConnection
from entresol.server.ipc import IpcConnection, UnixPath
from entresol.server.pages import StaticFiles, no_files
from entresol.server.protocol import ClientProtocol, DuplexConnection
from entresol.server.responses import DocumentFormat
from entresol.server.server_state import ServerState

MAX_SWEEP_SECONDS = 1.0
# Connections that the system queues until they are accepted: those of a moment in which the event loop is busy.
BACKLOG = 2048


class PortSharing(Enum):
    """Whether other processes listen on the same port."""

    NONE = auto()
    FIRST = auto()
    """They will; nobody does so far."""
    JOIN = auto()


class Server:
    """Serves a handler, pages and files on one port or two, and the handler on a Unix socket.

    Remembers: open connections. Assumes: one event loop, on which it was started. Fails: to start, with a ListenFailed.
    """

    def __init__(  # noqa: PLR0913 - independent parts
        self,
        handler: Handler,
        documents: DocumentFormat,
        config: ServerConfig | None = None,
        pages: Mapping[str, Page] | None = None,
        on_rejection: OnRejection | None = None,
        *,
        files: StaticFiles = no_files,
        trees: Mapping[str, PageTree] | None = None,
        sharing: PortSharing = PortSharing.NONE,
        extra_port: int | None = None,
    ) -> None:
        self.config = config or ServerConfig()
        self._sharing = sharing
        self.state = ServerState(
            handler, documents, self.config, pages or {}, on_rejection, files=files, trees=trees
        )
        self._bound: list[socket.socket] = []
        self._listeners: list[asyncio.Server] = []
        self._path: UnixPath | None = None
        self._sweep: asyncio.TimerHandle | None = None
        self.port = self.config.port
        self.extra_port = extra_port
        """Where it serves the same, if it does so on two ports."""

    async def bind(self) -> None:
        """Take the ports. With port 0, `port` becomes the one that the system chose, and so does `extra_port`.

        Connections wait until the server is started.
        """
        sockets = await self._bind(self.port, "--port")
        self.port = _port_of(sockets)
        if self.extra_port is not None:
            try:
                extra = await self._bind(self.extra_port, "--extra-port")
            except BaseException:
                _close(sockets)
                raise
            self.extra_port = _port_of(extra)
            sockets += extra
        self._bound = sockets

    async def start(self) -> None:
        """Serve; on ports that are taken now, unless they were before."""
        loop = self.state.loop = asyncio.get_running_loop()
        if not self._bound:
            await self.bind()
        while self._bound:
            bound = self._bound.pop(0)
            listener = await loop.create_server(
                lambda: HttpConnection(self.state), sock=bound, backlog=BACKLOG
            )
            self._listeners.append(listener)
        await self._listen_on_path()
        self._expire_connections()

    async def stop(self, seconds: float | None = None) -> None:
        """Accept no more connections, let responses in progress finish in time, and close all connections."""
        _close(self._bound)
        for listener in self._listeners:
            listener.close()
        if self._path is not None:
            self._path.remove()
        self.state.stopping = True
        for connection in tuple(self.state.open):
            connection.stop()
        allowed = self.config.stop_seconds if seconds is None else seconds
        with contextlib.suppress(TimeoutError):
            # Not `wait_for`, which on Python 3.11 can lose a cancellation.
            async with asyncio.timeout(allowed):
                await self.state.wait_closed()
        for connection in tuple(self.state.open):
            connection.abort()
        await self.state.wait_closed()
        if self._sweep is not None:
            self._sweep.cancel()

    async def _bind(self, port: int, flag: str) -> list[socket.socket]:
        sockets: list[socket.socket] = []
        for host in self.config.hosts:
            try:
                for family, address in await addresses(host, port):
                    # All addresses get the port that the system chose for the first.
                    port = _port_of(sockets) if sockets else port
                    sockets.append(self._listen(family, (address, port)))
            except OSError as error:
                _close(sockets)
                raise listen_error(error, host, port, flag) from error
        return sockets

    async def _listen_on_path(self) -> None:
        """Listen on the Unix socket, if there is one; only the first of several processes does."""
        if self.config.ipc is None or self._sharing is PortSharing.JOIN:
            return
        self._path = UnixPath(self.config.ipc)
        try:
            bound = self._path.listen()
        except ListenFailed:
            await self.stop(0)
            raise
        listener = await self.state.loop.create_unix_server(
            lambda: IpcConnection(self.state), sock=bound, backlog=BACKLOG
        )
        self._listeners.append(listener)

    def _listen(self, family: int, address: tuple[str, int]) -> socket.socket:
        if self._sharing is PortSharing.FIRST and address[1]:
            # Another program that shares its port would not be noticed otherwise.
            listen(family, address).close()
        return listen(family, address, reuse=self._sharing is not PortSharing.NONE)

    def _expire_connections(self) -> None:
        """Expire connections past their deadline, all in one sweep, so that no request needs a timer."""
        loop = self.state.loop
        now = loop.time()
        for connection in tuple(self.state.open):
            if connection.deadline <= now:
                connection.expire()
        self.state.unsent.sweep(self.state.counters.bytes_sent)
        self._sweep = loop.call_later(sweep_seconds(self.config), self._expire_connections)


async def addresses(host: str, port: int) -> list[tuple[int, str]]:
    """Return the address families and addresses that `host` resolves to."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return list(dict.fromkeys((family, str(address[0])) for family, _, _, _, address in found))


def listen(family: int, address: tuple[str, int], *, reuse: bool = False) -> socket.socket:
    """Return a socket that listens on `address`; with `reuse`, others of this user may listen there, too."""
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if reuse:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(address)
        # With this option a port can be bound twice: that it is in use only shows on listening.
        bound.listen()
    except OSError:
        bound.close()
        raise
    return bound


def _port_of(sockets: list[socket.socket]) -> int:
    port: int = sockets[0].getsockname()[1]
    return port


def _close(sockets: list[socket.socket]) -> None:
    for listener in sockets:
        listener.close()


def listen_error(error: OSError, host: str, port: int, flag: str = "--port") -> ListenFailed:
    """Return the error of ours for `error`, which says what to do about it."""
    if error.errno == errno.EADDRINUSE:
        return AddressUnavailable(
            f"port {port} of {host} is in use: stop what uses it, or choose another", flag
        )
    if error.errno == errno.EACCES:
        return AddressUnavailable(
            f"not allowed to listen on port {port} of {host}: choose one above 1023", flag
        )
    return ListenFailed(
        f"cannot listen on {host} ({error.strerror or str(error)}): give an address of this machine with --host"
    )


def sweep_seconds(config: ServerConfig) -> float:
    """Return the time between sweeps, short enough that no timeout is exceeded by much."""
    shortest = min(
        config.header_seconds,
        config.body_seconds,
        config.idle_seconds,
        ClientProtocol.write_seconds,
        ClientProtocol.linger_seconds,
        DuplexConnection.ping_seconds,
    )
    return min(shortest / 4, MAX_SWEEP_SECONDS)
