"""WebSockets over real sockets: frames, pushes, limits, abuse."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from functools import partial
from typing import Any

import pytest
from websockets.frames import Frame, Opcode
from websockets.sync.client import connect

from entresol.server.handler import ClientConnection, Outbox
from tests.support.http_server import (
    HELLO,
    echo,
    post_request,
    upgrade_request,
)
from tests.support.http_server import (
    running_server as serve,
)
from tests.support.polling import eventually


class Subscriptions:
    """A handler that stores the connection, to push to it."""

    def __init__(self) -> None:
        self.connection: ClientConnection | None = None
        self.ended = 0

    def __call__(self, body: bytes, connection: ClientConnection) -> bytes:
        self.connection = connection
        connection.on_close(self.end)
        return body

    def end(self) -> None:
        self.ended += 1

    def push(self, data: bytes) -> bool:
        assert self.connection is not None
        return self.connection.send(data)


class Batches:
    """A handler with a subscription in each request; `b"slow"` gets its response when the gate opens."""

    def __init__(self) -> None:
        self.outboxes: list[Outbox] = []
        self.gate = asyncio.Event()

    def __call__(self, body: bytes, connection: ClientConnection) -> bytes | Awaitable[bytes]:
        self.outboxes.append(connection.outbox())
        self.push()
        return self.later(body, connection) if body == b'"slow"' else body

    async def later(self, body: bytes, connection: ClientConnection) -> bytes:
        self.outboxes.append(connection.outbox())
        await self.gate.wait()
        return body

    def push(self, data: bytes = b"") -> bool:
        return all(it.send(data or b"[%d]" % number) for number, it in enumerate(self.outboxes))


def test_an_unmodified_client_is_served() -> None:
    with serve(echo) as server, connect(f"ws://127.0.0.1:{server.port}/path") as client:
        for message in ('{"n":1}', b'{"n":2}', "[" + " " * 100_000 + "]"):
            client.send(message)
            assert client.recv() == message


def test_messages_are_not_compressed() -> None:
    with serve(echo) as server, server.client() as client:
        response = client.open_websocket("Sec-WebSocket-Extensions: permessage-deflate")
        assert "sec-websocket-extensions" not in response.headers


def test_fragments_are_assembled_around_control_frames() -> None:
    with serve(echo) as server, server.client() as client:
        client.open_websocket()
        client.send_frame(Opcode.TEXT, b'{"a', fin=False)
        client.send_frame(Opcode.PING, b"between")
        client.send_frame(Opcode.CONT, b'":', fin=False)
        client.send_frame(Opcode.CONT, b"1}")
        assert client.frame() == (Opcode.PONG, b"between")
        assert client.frame() == (Opcode.TEXT, b'{"a":1}')


def test_frames_behind_the_handshake_are_read() -> None:
    with serve(echo) as server, server.client() as client:
        client.send(upgrade_request() + Frame(Opcode.TEXT, HELLO).serialize(mask=True))
        assert client.response().status == 101
        assert client.frame() == (Opcode.TEXT, HELLO)


def test_requests_run_concurrently() -> None:
    gate = asyncio.Event()

    async def wait(body: bytes) -> bytes:
        await gate.wait()
        return body

    def handle(body: bytes, _connection: ClientConnection) -> bytes | Awaitable[bytes]:
        return wait(body) if b"slow" in body else body

    with serve(handle, concurrency=2) as server, server.client() as client:
        client.open_websocket()
        client.send_frame(Opcode.TEXT, b'"slow"')
        client.send_frame(Opcode.TEXT, b'"fast"')
        assert client.frame()[1] == b'"fast"'
        for _ in range(5):
            client.send_frame(Opcode.TEXT, b'"slow"')
        eventually(lambda: server.server.state.counters.requests_total == 3)
        server.call(gate.set)
        assert [client.frame()[1] for _ in range(6)] == [b'"slow"'] * 6


def test_documents_are_pushed_as_text() -> None:
    handler = Subscriptions()
    with serve(handler) as server, server.client() as client:
        client.open_websocket()
        client.send_frame(Opcode.BINARY, HELLO)
        assert client.frame() == (Opcode.BINARY, HELLO)
        assert server.call(lambda: handler.push(b"[1]"))
        assert client.frame() == (Opcode.TEXT, b"[1]")


def test_an_outbox_sends_after_the_response_to_its_request() -> None:
    handler = Batches()
    with serve(handler) as server, server.client() as client:
        client.open_websocket()
        for body in (b'"first"', b'"slow"'):
            client.send_frame(Opcode.TEXT, body)
        assert [client.frame()[1] for _ in range(3)] == [b'"first"', b"[0]", b"[0]"]
        eventually(lambda: len(handler.outboxes) == 3)
        assert server.call(handler.push)
        assert client.frame()[1] == b"[0]"
        server.call(handler.gate.set)
        assert [client.frame()[1] for _ in range(4)] == [b'"slow"', b"[1]", b"[1]", b"[2]"]
        server.call(handler.push)
        assert [client.frame()[1] for _ in range(3)] == [b"[0]", b"[1]", b"[2]"]


def test_a_client_is_closed_if_too_much_is_held_for_its_response() -> None:
    handler = Batches()
    with (
        serve(handler, queue_bytes=1_000_000) as server,
        server.client() as client,
    ):
        client.open_websocket()
        client.send_frame(Opcode.TEXT, b'"slow"')
        eventually(lambda: len(handler.outboxes) == 2)
        accepted = [server.call(partial(handler.push, b"1" * 300_000)) for _ in range(2)]
        assert accepted == [True, False]
        assert client.close_code() == 1008
        server.call(handler.gate.set)


def test_what_is_held_counts_among_the_unsent_bytes_of_all() -> None:
    handler = Batches()
    limits: dict[str, Any] = {"unsent_limit_bytes": 1_000_000}
    with serve(handler, **limits) as server, server.client() as client:
        client.open_websocket()
        client.send_frame(Opcode.TEXT, b'"slow"')
        eventually(lambda: len(handler.outboxes) == 2)
        for _ in range(2):
            server.call(partial(handler.push, b"1" * 300_000))
        eventually(lambda: server.server.state.counters.websockets_open == 0)
        server.call(handler.gate.set)


def test_close_callbacks_run_once() -> None:
    handler = Subscriptions()
    with serve(handler) as server:
        with server.client() as client:
            client.open_websocket()
            client.send_frame(Opcode.TEXT, HELLO)
            client.frame()
        eventually(lambda: handler.ended == 1)
        assert not server.call(lambda: handler.push(b"[1]"))
        assert server.server.state.counters.websockets_open == 0
        assert server.server.state.counters.websockets_total == 1


def test_a_subscriber_that_never_reads_is_disconnected() -> None:
    handler = Subscriptions()
    limits: dict[str, Any] = {"queue_bytes": 1_000_000, "linger_seconds": 0.1}
    with serve(handler, **limits) as server, server.client(receive_buffer=4096) as client:
        client.open_websocket()
        client.send_frame(Opcode.TEXT, HELLO)
        client.frame()
        eventually(lambda: not server.call(lambda: handler.push(b"1" * 100_000)))
        eventually(lambda: handler.ended == 1)


def test_a_clean_close_is_acknowledged() -> None:
    with serve(echo) as server, server.client() as client:
        client.open_websocket()
        client.send_frame(Opcode.CLOSE, (1000).to_bytes(2, "big") + b"bye")
        assert client.frame() == (Opcode.CLOSE, b"\x03\xe8bye")
        assert client.rest() == b""


def test_a_message_over_the_limit_closes() -> None:
    with serve(echo, body_limit_bytes=1000) as server, server.client() as client:
        client.open_websocket()
        client.send_frame(Opcode.TEXT, b" " * 600, fin=False)
        client.send_frame(Opcode.CONT, b" " * 600)
        assert client.close_code() == 1009


@pytest.mark.parametrize(
    "wrong",
    [
        b"\x81\x02{}",  # without a mask
        b"\xf1\x80\x00\x00\x00\x00",  # reserved bits
        b"\x83\x80\x00\x00\x00\x00",  # an unknown opcode
        b"\x80\x80\x00\x00\x00\x00",  # continues nothing
        b"\x09\x80\x00\x00\x00\x00",  # a ping in pieces
        b"\x89\xfe\x00\x80" + bytes(132),  # a ping that is too long
    ],
)
def test_an_invalid_frame_closes(wrong: bytes) -> None:
    with serve(echo) as server, server.client() as client:
        client.open_websocket()
        client.send(wrong)
        assert client.close_code() == 1002
        assert client.rest() == b""


def test_a_silent_client_is_pinged_and_then_closed() -> None:
    with serve(echo, ping_seconds=0.1) as server, server.client() as client:
        client.open_websocket()
        assert client.frame() == (Opcode.PING, b"")
        assert client.close_code() == 1011


def test_a_client_that_sends_a_pong_is_pinged_again() -> None:
    def is_pinged_again() -> bool:
        # Who responses too late is closed, and comes back.
        with server.client() as client:
            client.open_websocket()
            assert client.frame() == (Opcode.PING, b"")
            client.send_frame(Opcode.PONG, b"")
            return client.frame() == (Opcode.PING, b"")

    with serve(echo, ping_seconds=0.1) as server:
        eventually(is_pinged_again)


def test_a_bad_handshake_is_rejected() -> None:
    with serve(echo) as server, server.client() as client:
        client.send(
            b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
        )
        assert client.response().status == 400
        assert client.rest() == b""


def test_an_upgrade_behind_pending_requests_is_rejected() -> None:
    async def later(body: bytes, _connection: ClientConnection) -> bytes:
        return body

    with serve(later) as server, server.client() as client:
        client.send(post_request(HELLO))
        client.send(
            b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
        )
        assert client.response().body == HELLO
        assert client.response().status == 400


def test_a_handler_that_raises_gets_an_error_response(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(_body: bytes, _connection: ClientConnection) -> bytes:
        raise ValueError("secret")

    with serve(fail) as server, server.client() as client:
        client.open_websocket()
        client.send_frame(Opcode.TEXT, HELLO)
        assert json.loads(client.frame()[1])["error"]["code"] == -32603
    assert "secret" in caplog.text


def test_stopping_finishes_requests_in_progress_and_closes_as_going_away() -> None:
    gate = asyncio.Event()

    async def wait(body: bytes, _connection: ClientConnection) -> bytes:
        await gate.wait()
        return body

    with serve(wait) as server, server.client() as busy, server.client() as idle:
        busy.open_websocket()
        idle.open_websocket()
        busy.send_frame(Opcode.TEXT, HELLO)
        eventually(lambda: server.server.state.counters.requests_total == 1)
        stopped = server.begin(server.server.stop(10))
        assert idle.close_code() == 1001
        idle.send_frame(Opcode.CLOSE, (1001).to_bytes(2, "big"))
        assert idle.rest() == b""
        idle.socket.close()
        server.call(gate.set)
        assert busy.frame() == (Opcode.TEXT, HELLO)
        assert busy.close_code() == 1001
        busy.socket.close()
        stopped()
