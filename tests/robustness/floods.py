"""Floods: what one client can send without pause, and how long another client waits meanwhile."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import selectors
import socket
import time
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from multiprocessing.connection import Connection
from typing import Final, NamedTuple

from websockets.frames import Frame, Opcode

from tests.support.evm import long_programs
from tests.support.http_server import RawConnection, post_request, upgrade_request
from tests.support.polling import PATIENCE_SECONDS

REQUEST: Final = b'{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'
BLOCK: Final = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "eth_getBlockByNumber",
    "params": ["0x0", True],
}
MINE: Final = b'{"jsonrpc":"2.0","id":1,"method":"evm_mine","params":[]}'
SUBSCRIBE: Final = b'{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}'
TARGET: Final = "0x" + "a2" * 20


def _call(code: str) -> bytes:
    """Return a call of a contract with this code."""
    call = {"to": TARGET, "gas": hex(50_000_000)}
    params = [call, "latest", {TARGET: {"code": "0x" + code.replace(" ", "")}}]
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": params}).encode()


ENDLESS: Final = _call("5b 5f 56")
LONG: Final = _call("620186a0 5b 6001 90 03 80 6004 57 00")
"""A call that ends, but takes too long for the event loop."""
PRECOMPILES: Final = [
    # Rounds of BLAKE2, pairings, and powers of long numbers.
    (9, (49_000_000).to_bytes(4) + bytes(64 + 128 + 16) + b"\1"),
    (8, long_programs.PRECOMPILES["bn254 pairing of 1"].data * 300),
    (5, b"".join(number.to_bytes(32) for number in (1024, 64, 1024)) + b"\xfb" * 2_112),
]
METRICS: Final = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
FAILING: Final = b'{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["0x02f8"]}'
LARGE: Final = FAILING.replace(b"f8", b"f8" * (7 << 20))
"""Nearly as long as a request may be."""
BURST_BYTES: Final = 1 << 20
PAUSE_SECONDS: Final = 0.001
START_SECONDS: Final = 1.0
"""How long a flood has before anything is measured."""
BOTH: Final = selectors.EVENT_READ | selectors.EVENT_WRITE


class Flood(NamedTuple):
    """What is sent over and over, on how many connections."""

    data: bytes
    connections: int = 1
    websocket: bool = False
    start: bytes = b""
    """Sent once, before `data`."""
    awaits: bool = False
    """Whether a connection waits for a response before it sends `data` again."""
    unread: Flood | None = None
    """Connections besides, which send what they start with and never read."""
    other: bytes = REQUEST
    """What the other client sends."""
    flags: tuple[str, ...] = ()
    """What the node is started with."""


def _frames(opcode: Opcode, data: bytes, *, fin: bool = True) -> bytes:
    frame = Frame(opcode, data, fin=fin).serialize(mask=True)
    return frame * (BURST_BYTES // len(frame))


def _repeated(request: bytes) -> bytes:
    return request * (BURST_BYTES // len(request))


FLOODS: Final = {
    "empty fragments": Flood(
        _frames(Opcode.CONT, b"", fin=False),
        websocket=True,
        start=Frame(Opcode.TEXT, b"", fin=False).serialize(mask=True),
    ),
    "pings": Flood(_frames(Opcode.PING, b"x" * 8), websocket=True),
    "pongs": Flood(_frames(Opcode.PONG, b""), websocket=True),
    "requests over a WebSocket": Flood(_frames(Opcode.TEXT, REQUEST), websocket=True),
    "pipelined requests": Flood(_repeated(post_request(REQUEST))),
    "pipelined requests on 20 connections": Flood(_repeated(post_request(REQUEST)), connections=20),
    "pipelined pages": Flood(_repeated(METRICS)),
    "batches of 500 calls": Flood(
        _repeated(post_request(json.dumps([BLOCK] * 500).encode())), connections=4
    ),
    "large requests in a row": Flood(post_request(LARGE), awaits=True),
    "large requests on 8 connections": Flood(post_request(LARGE), connections=8, awaits=True),
    "large batches in a row": Flood(post_request(b"[" + LARGE + b"]"), awaits=True),
    "failing requests": Flood(_repeated(post_request(FAILING)), connections=4),
    "precompiles that take long": Flood(
        b"".join(
            post_request(
                json.dumps(
                    {
                        "jsonrpc": "2.0",
                        "id": 1,
                        "method": "eth_call",
                        "params": [
                            {"to": f"0x{address:040x}", "data": "0x" + data.hex()},
                            "latest",
                        ],
                    }
                ).encode()
            )
            for address, data in PRECOMPILES
        ),
        connections=4,
    ),
    "500 endless calls at a time": Flood(
        post_request(b"[" + b",".join([ENDLESS] * 500) + b"]"), awaits=True
    ),
    "500 endless calls at a time, for a call that takes long": Flood(
        post_request(b"[" + b",".join([ENDLESS] * 500) + b"]"), awaits=True, other=LONG
    ),
    "100 connections": Flood(post_request(REQUEST), connections=100, awaits=True),
    "100 connections for the metrics of workers": Flood(
        METRICS, connections=100, awaits=True, flags=("--workers", "2")
    ),
    "10,000 subscriptions that nobody reads": Flood(
        post_request(MINE),
        awaits=True,
        unread=Flood(
            b"",
            connections=10,
            websocket=True,
            start=Frame(Opcode.TEXT, SUBSCRIBE).serialize(mask=True) * 1_000,
        ),
    ),
}
"""Each flood by its name."""


class Flooder:
    """One connection of a flood, which is opened again whenever the server closes it."""

    def __init__(self, port: int, flood: Flood, selector: selectors.BaseSelector) -> None:
        self._port = port
        self._flood = flood
        self._selector = selector
        self._unsent = memoryview(flood.data)
        self._socket = self._open()

    def advance(self, events: int) -> None:
        """Receive and send what is possible at once."""
        try:
            if events & selectors.EVENT_READ:
                self._receive()
            if events & selectors.EVENT_WRITE:
                self._send()
        except BlockingIOError:
            return
        except OSError:
            self._selector.unregister(self._socket)
            self._socket.close()
            self._unsent = memoryview(self._flood.data)
            self._socket = self._open()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _send(self) -> None:
        self._unsent = self._unsent[self._socket.send(self._unsent) :]
        if not self._unsent:
            self._unsent = memoryview(self._flood.data)
            if self._flood.awaits:
                self._selector.modify(self._socket, selectors.EVENT_READ, self)

    def _receive(self) -> None:
        """Discard what the server sent."""
        if not self._socket.recv(BURST_BYTES):
            raise ConnectionResetError
        if self._flood.awaits:
            self._selector.modify(self._socket, BOTH, self)

    def _open(self) -> socket.socket:
        opened = open_connection(self._port, self._flood)
        self._selector.register(opened, BOTH, self)
        return opened


class Unread:
    """One connection that never reads, which is opened again whenever the server resets it."""

    def __init__(self, port: int, flood: Flood) -> None:
        self._port = port
        self._flood = flood
        self._socket = open_connection(port, flood)

    def renew(self) -> None:
        """Open it again if it is reset."""
        if self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self._socket.close()
            self._socket = open_connection(self._port, self._flood)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


def open_connection(port: int, flood: Flood) -> socket.socket:
    """Return a connection that has sent what a flood starts with."""
    opened = socket.create_connection(("127.0.0.1", port), timeout=30)
    if flood.websocket:
        opened.sendall(upgrade_request())
        opened.recv(BURST_BYTES)
    opened.sendall(flood.start)
    opened.setblocking(False)
    return opened


def send_floods(orders: Connection) -> None:
    """Send each flood that is ordered, until the next message."""
    while True:
        port, flood = orders.recv()
        send_flood(port, flood, orders)
        orders.recv()
        orders.send("ended")


def send_flood(port: int, flood: Flood, orders: Connection) -> None:
    """Send one flood until there is a message; say so when all its connections have sent something."""
    silent = flood.unread
    with contextlib.ExitStack() as cleanup:
        selector = cleanup.enter_context(selectors.DefaultSelector())
        unread = [Unread(port, silent) for _ in range(silent.connections)] if silent else []
        new = {Flooder(port, flood, selector) for _ in range(flood.connections)}
        for silent_connection in unread:
            cleanup.callback(silent_connection.close)
        for flooder in new:
            cleanup.callback(flooder.close)
        selector.register(orders, selectors.EVENT_READ)
        while True:
            for key, events in selector.select():
                if key.fileobj is orders:
                    return
                key.data.advance(events)
                if new and events & selectors.EVENT_WRITE:
                    new.discard(key.data)
                    if not new:
                        orders.send("started")
            for connection in unread:
                connection.renew()


class FloodProcess:
    """A process that sends one flood after the other: starting it takes longer than many a flood lasts."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._orders, theirs = context.Pipe()
        self._process = context.Process(target=send_floods, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def start(self, port: int, flood: Flood) -> None:
        """Return when a flood has begun."""
        self._orders.send((port, flood))
        self._await("started")

    def stop(self) -> None:
        """End the flood."""
        assert self._process.is_alive(), "the flood ended"
        self._orders.send("stop")
        self._await("ended")

    def kill(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self._orders.close()

    def _await(self, message: str) -> None:
        assert self._orders.poll(PATIENCE_SECONDS), "the flood does not respond"
        assert self._orders.recv() == message


@contextlib.contextmanager
def running_floods() -> Iterator[FloodProcess]:
    """Start a process that sends floods, and kill it at the end whatever happens."""
    process = FloodProcess()
    try:
        yield process
    finally:
        process.kill()


@contextlib.contextmanager
def flooding(port: int, flood: Flood) -> Iterator[None]:
    """Have another process send a flood; it has begun when this returns."""
    with running_floods() as process:
        process.start(port, flood)
        yield
        process.stop()


def latencies(port: int, seconds: float, body: bytes = REQUEST) -> list[float]:
    """Return how long each request of a client took, in milliseconds, from the shortest."""
    taken: list[float] = []
    end = time.perf_counter() + seconds
    with RawConnection(port) as client:
        while time.perf_counter() < end:
            taken.append(request_milliseconds(client, body))
    return sorted(taken)


def request_milliseconds(client: RawConnection, body: bytes = REQUEST) -> float:
    """Return how long a request of a client took that pauses after it."""
    started = time.perf_counter()
    assert client.post(body).status == HTTPStatus.OK
    taken = (time.perf_counter() - started) * 1e3
    time.sleep(PAUSE_SECONDS)
    return taken


def p99(taken: Sequence[float]) -> float:
    """Return the 99th percentile of sorted values."""
    return taken[len(taken) * 99 // 100]
