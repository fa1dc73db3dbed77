"""Memory of the server: long requests, and responses that nobody reads, are bounded for all connections together."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from websockets.frames import CloseCode, Opcode

from entresol.rpc.jsonrpc.request_batch import Response
from entresol.server.handler import ClientConnection
from entresol.server.responses import HttpResponse
from tests.support.http_server import (
    HELLO,
    RawConnection,
    RunningServer,
    post_request,
    running_server,
)
from tests.support.polling import eventually

LONG = b'{"long":"' + b"x" * (1 << 20) + b'"}'
LIMIT = 3 << 20


class Gate:
    """A handler that responds once the gate is open."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.waiting = 0

    async def respond(self) -> bytes:
        self.waiting += 1
        await self.opened.wait()
        return b'{"result":1}'

    def __call__(self, body: bytes, connection: ClientConnection) -> Response:
        assert not connection.closed
        return self.respond() if len(body) > 1_000 else b'{"short":1}'


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def server(gate: Gate) -> Iterator[RunningServer]:
    with running_server(gate, request_limit_bytes=LIMIT) as running:
        yield running
        running.call(gate.opened.set)


def used(server: RunningServer) -> int:
    return server.server.state.request_bytes.used


def start_long(server: RunningServer, gate: Gate, count: int) -> list[RawConnection]:
    """Have `count` clients send a long request, and return them once all are in progress."""
    clients = [server.client() for _ in range(count)]
    for client in clients:
        client.send(post_request(LONG))
    eventually(lambda: gate.waiting == count)
    return clients


def test_a_long_request_beyond_the_limit_is_rejected_and_a_short_one_is_served(
    server: RunningServer, gate: Gate
) -> None:
    clients = start_long(server, gate, 2)
    with server.client() as client:
        rejected = client.post(LONG)
    assert rejected.status == 503
    assert rejected.headers["retry-after"] == "1"
    assert json.loads(rejected.body)["error"]["code"] == -32005
    with server.client() as client:
        assert client.post(b'{"a":1}').status == 200
    server.call(gate.opened.set)
    for client in clients:
        assert client.response().status == 200
        client.socket.close()
    eventually(lambda: used(server) == 0)
    with server.client() as client:
        assert client.post(LONG).status == 200


def test_a_websocket_runs_one_request_of_the_maximum_length_and_then_reads_on(gate: Gate) -> None:
    with (
        running_server(gate, body_limit_bytes=len(LONG)) as server,
        server.client() as client,
    ):
        client.open_websocket()
        for _ in range(4):
            client.send_frame(Opcode.TEXT, LONG)
        eventually(lambda: gate.waiting == 1)
        assert used(server) <= 2 * len(LONG)
        server.call(gate.opened.set)
        assert [client.frame()[1] for _ in range(4)] == [b'{"result":1}'] * 4
        eventually(lambda: used(server) == 0)


def test_a_websocket_message_beyond_the_limit_is_rejected(
    server: RunningServer, gate: Gate
) -> None:
    clients = start_long(server, gate, 2)
    with server.client() as client:
        client.open_websocket()
        client.send_frame(Opcode.TEXT, LONG)
        opcode, data = client.frame()
    assert opcode is Opcode.CLOSE
    assert int.from_bytes(data[:2]) == CloseCode.TRY_AGAIN_LATER
    for client in clients:
        client.socket.close()


@pytest.mark.parametrize("kind", ["http", "chunked", "frame", "fragments"])
def test_a_request_that_never_ends_is_freed_with_its_connection(
    server: RunningServer, kind: str
) -> None:
    gc.collect()
    gc.disable()
    try:
        client = server.client()
        if kind == "http":
            client.send(post_request(LONG)[:-1])
        elif kind == "chunked":
            head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            client.send(head + b"Transfer-Encoding: chunked\r\n\r\n")
            client.send(b"%x\r\n%b\r\n" % (len(LONG), LONG))
        else:
            client.open_websocket()
            client.send_frame(Opcode.TEXT, LONG, fin=False)
            if kind == "frame":
                client.send(b"\x80\xff" + (1 << 20).to_bytes(8) + b"mask" + b"x" * 1_000)
        eventually(lambda: used(server) >= len(LONG) - 1)
        client.socket.close()
        eventually(lambda: used(server) == 0)
    finally:
        gc.enable()


MIB = 1 << 20
CLIENTS = 20


def respond_at_length(body: bytes, connection: ClientConnection) -> bytes:
    """Return 8 MiB, except to HELLO."""
    del connection
    return body if body == HELLO else b" " * (8 * MIB)


@pytest.mark.parametrize("websocket", [False, True], ids=["http", "ws"])
def test_clients_that_never_read_are_dropped_beyond_the_limit(websocket: bool) -> None:
    reasons: list[str] = []

    def record(response: HttpResponse, connection: ClientConnection) -> None:
        del connection
        reasons.append(response.reason)

    limit = 32 * MIB
    with (
        running_server(respond_at_length, on_rejection=record, unsent_limit_bytes=limit) as server,
        ExitStack() as stack,
        server.client() as reading,
    ):
        for _ in range(CLIENTS):
            greedy = stack.enter_context(server.client(receive_buffer=4_096))
            if websocket:
                assert greedy.open_websocket().status == 101
                greedy.send_frame(Opcode.TEXT, b"{}")
            else:
                greedy.send(post_request(b"{}"))
            assert reading.post(HELLO).body == HELLO
        unsent = server.server.state.unsent
        eventually(lambda: unsent.dropped >= CLIENTS - limit // (4 * MIB))
        server.call(lambda: unsent.sweep(server.server.state.counters.bytes_sent))
        assert unsent.total <= limit
        assert reading.post(b"{}").body == b" " * (8 * MIB)
    assert set(reasons) == {"too much unread by all clients together"}
