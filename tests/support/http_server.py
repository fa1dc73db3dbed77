"""A server in a thread, and clients that speak to it byte by byte."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final, NamedTuple, Self, TypeVar
from unittest.mock import patch

import uvloop
from websockets.frames import Frame, Opcode

from entresol.rpc.jsonrpc.errors import JSON_RPC
from entresol.server.config import ServerConfig
from entresol.server.handler import ClientConnection, Handler, OnRejection, Page
from entresol.server.http.parser import HttpParser
from entresol.server.pages import StaticFiles, no_files
from entresol.server.protocol import ClientProtocol, DuplexConnection
from entresol.server.server import Server
from entresol.server.websocket import WebSocketConnection
from tests.support.polling import PATIENCE_SECONDS, eventually

T = TypeVar("T")

TUNED: Final[dict[str, type]] = {
    "header_limit_bytes": HttpParser,
    "linger_seconds": ClientProtocol,
    "write_buffer_bytes": ClientProtocol,
    "write_seconds": ClientProtocol,
    "concurrency": DuplexConnection,
    "queue_bytes": DuplexConnection,
    "ping_seconds": DuplexConnection,
    "small_frames_per_second": WebSocketConnection,
}

HELLO = b'{"hello":1}'


def echo(body: bytes, connection: ClientConnection) -> bytes:
    assert connection.peer.startswith(("127.0.0.1:", "::1:"))
    return body


class Response(NamedTuple):
    """An HTTP response; header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class RawConnection:
    """One connection, with every byte under control."""

    def __init__(self, port: int, receive_buffer: int | None = None) -> None:
        self.socket = socket.socket()
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(PATIENCE_SECONDS)
        # Pieces are sent as they are cut, not when the last one is acknowledged.
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self.socket.connect(("127.0.0.1", port))
        except OSError:
            self.socket.close()
            raise
        self.unread = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def read(self, size: int) -> bytes:
        while len(self.unread) < size:
            data = self.socket.recv(1 << 20)
            if not data:
                raise EOFError(self.unread)
            self.unread += data
        data, self.unread = self.unread[:size], self.unread[size:]
        return data

    def rest(self) -> bytes:
        data, self.unread = self.unread, b""
        while piece := self.socket.recv(1 << 20):
            data += piece
        return data

    def response(self, *, to_head: bool = False) -> Response:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self.read(1)
        line, *fields = head.decode("latin-1").strip().split("\r\n")
        headers = {name.lower(): value for name, _, value in (f.partition(": ") for f in fields)}
        size = 0 if to_head else int(headers.get("content-length", "0"))
        return Response(int(line.split()[1]), headers, self.read(size))

    def post(self, body: bytes = HELLO, *headers: str, path: str = "/") -> Response:
        self.send(post_request(body, *headers, path=path))
        return self.response()

    def open_websocket(self, *headers: str) -> Response:
        self.send(upgrade_request(*headers))
        return self.response()

    def send_frame(self, opcode: Opcode, data: bytes, *, fin: bool = True) -> None:
        self.send(Frame(opcode, data, fin=fin).serialize(mask=True))

    def frame(self) -> tuple[Opcode, bytes]:
        """Return the next frame; the server never splits messages."""
        first, second = self.read(2)
        assert first & 0x80
        size = second
        if second == 126:
            size = int.from_bytes(self.read(2), "big")
        elif second == 127:
            size = int.from_bytes(self.read(8), "big")
        return Opcode(first & 0x0F), self.read(size)

    def close_code(self) -> int:
        while True:
            opcode, data = self.frame()
            if opcode is Opcode.CLOSE:
                return int.from_bytes(data[:2], "big")


def raw_response(port: int, data: bytes) -> bytes:
    """Return everything that comes back until the end.

    A connection that a hurried server closed before `data` got there is made again.
    """

    def received() -> bytes:
        try:
            with RawConnection(port) as client:
                client.send(data)
                return client.rest()
        except ConnectionError:
            return b""

    return eventually(received)


def post_request(body: bytes, *headers: str, path: str = "/") -> bytes:
    lines = [f"POST {path} HTTP/1.1", *headers, f"Content-Length: {len(body)}"]
    given = "\n".join(headers).lower()
    if "host:" not in given:
        lines.append("Host: localhost")
    if "content-type:" not in given:
        lines.append("Content-Type: application/json")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def upgrade_request(*headers: str) -> bytes:
    lines = [
        "GET / HTTP/1.1",
        "Host: localhost",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        *headers,
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


class RunningServer:
    def __init__(self, loop: asyncio.AbstractEventLoop, server: Server) -> None:
        self.loop = loop
        self.server = server
        self.port = server.port

    def client(self, receive_buffer: int | None = None) -> RawConnection:
        return RawConnection(self.port, receive_buffer)

    def begin(self, work: Coroutine[Any, Any, T]) -> Callable[[], T]:
        """Run `work` on the server's loop; the result blocks until it is done."""
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        return lambda: future.result(PATIENCE_SECONDS)

    def call(self, function: Callable[[], T]) -> T:
        async def work() -> T:
            return function()

        return self.begin(work())()


@contextmanager
def running_server(
    handler: Handler,
    *,
    pages: Mapping[str, Page] | None = None,
    on_rejection: OnRejection | None = None,
    files: StaticFiles = no_files,
    **settings: Any,
) -> Iterator[RunningServer]:
    """Serve on a free port, with the settings of ServerConfig, and those constants of connections that are in `TUNED`."""
    loop = uvloop.new_event_loop()
    tuned = {"linger_seconds": PATIENCE_SECONDS, **settings}
    config = ServerConfig(
        **{"port": 0, **{name: tuned[name] for name in tuned.keys() - TUNED.keys()}}
    )
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    patched = ExitStack()
    for name in tuned.keys() & TUNED.keys():
        patched.enter_context(patch.object(TUNED[name], name, tuned[name]))
    try:
        server = Server(handler, JSON_RPC, config, pages, on_rejection, files=files)
        asyncio.run_coroutine_threadsafe(server.start(), loop).result(PATIENCE_SECONDS)
        yield RunningServer(loop, server)
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(PATIENCE_SECONDS)
        asyncio.run_coroutine_threadsafe(loop.shutdown_default_executor(), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
        patched.close()
