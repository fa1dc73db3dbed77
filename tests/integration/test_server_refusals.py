"""What a server says of the requests that it rejects itself, heard over real sockets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from websockets.frames import Opcode

from entresol.server import Connection, HttpResponse
from tests.support.http_server import HELLO, Client, echo, opening, post, running

CHUNKED = post(b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")


class Ear:
    """Keeps what it is told: status and reason."""

    def __init__(self) -> None:
        self.heard: list[tuple[int, str]] = []

    def __call__(self, reply: HttpResponse, connection: Connection) -> None:
        assert connection.peer.startswith("127.0.0.1:")
        self.heard.append((reply.status, reply.reason))


@pytest.mark.parametrize(
    ("sent", "status", "reason", "settings"),
    [
        (post(HELLO).replace(b"POST", b"PUT"), 405, "use POST", {}),
        (b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, "use POST", {}),
        (post(HELLO, "Content-Type: text/plain"), 415, "content type", {}),
        (post(HELLO, "Host: evil.example"), 403, "'evil.example'", {}),
        (post(b"{" * 99), 413, "Request is too big", {"body_limit_bytes": 20}),
        (CHUNKED + b"63\r\n" + b"{" * 99, 413, "too big", {"body_limit_bytes": 20}),
        (post(HELLO, "X: " + "x" * 999), 431, "too long", {"header_limit_bytes": 256}),
        (b"POST / HTTP/1.1\r\n", 408, "too long to arrive", {"header_seconds": 1.0}),
        (post(HELLO)[:-1], 408, "too long to arrive", {"body_seconds": 0.05}),
        (b"nonsense\r\n\r\n", 400, "not an HTTP request", {}),
        (b"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 400, "Host header", {}),
        (post(HELLO, "Expect: the unexpected"), 417, "100-continue", {}),
        (post(b"hello"), 400, "Parse error", {}),
        (post(HELLO) * 2, 429, "Too many requests", {"requests_per_second": 0.01}),
        (b"", 503, "too many connections", {"connection_limit": 1}),
        (opening("Origin: https://evil.example"), 403, "Origin", {"cors_origins": ("https://a",)}),
    ],
)
def test_a_rejection_is_told_once_with_what_the_client_is_told(
    sent: bytes, status: int, reason: str, settings: dict[str, Any]
) -> None:
    ear = Ear()
    with running(echo, on_rejection=ear, **settings) as server, server.client() as first:
        # The only one for whom there is room, where that is the limit.
        assert first.open_websocket().status == 101
        with server.client() as client:
            client.send(sent)
            answers = [client.response().status]
            if answers == [200]:
                answers.append(client.response().status)
            assert answers[-1] == status
    ((told, why),) = ear.heard
    assert told == status
    assert reason in why


def frames(client: Client, *messages: bytes) -> None:
    assert client.open_websocket().status == 101
    for message in messages:
        client.send_frame(Opcode.TEXT, message)


@pytest.mark.parametrize(
    ("message", "code", "reason"), [(b"\xff", 1007, "UTF-8"), (b"{" * 2_000, 1009, "2000")]
)
def test_a_websocket_that_is_ended_is_told_with_its_code(
    message: bytes, code: int, reason: str
) -> None:
    ear = Ear()
    with (
        running(echo, on_rejection=ear, body_limit_bytes=1_000) as server,
        server.client() as client,
    ):
        frames(client, message)
        assert client.close_code() == code
    ((told, why),) = ear.heard
    assert told == code
    assert reason in why


def test_a_message_too_many_a_second_is_told() -> None:
    ear = Ear()
    with (
        running(echo, on_rejection=ear, requests_per_second=0.01) as server,
        server.client() as client,
    ):
        frames(client, HELLO, HELLO)
        assert client.frame()[1] == HELLO
        assert b"Too many requests" in client.frame()[1]
    assert ear.heard == [(429, "Too many requests")]


def leave(client: Client) -> None:
    frames(client, HELLO)
    client.frame()
    client.send_frame(Opcode.CLOSE, (1000).to_bytes(2))
    assert client.close_code() == 1000


def ask_a_page(client: Client) -> None:
    client.send(b"GET /broken HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert client.response().status == 503


def ask_before_asking(client: Client) -> None:
    client.send(
        b"OPTIONS / HTTP/1.1\r\nHost: localhost\r\nAccess-Control-Request-Method: POST\r\n\r\n"
    )
    assert client.response().status == 204


@pytest.mark.parametrize("act", [Client.ask, leave, ask_a_page, ask_before_asking])
def test_what_is_not_rejected_is_not_told(act: Callable[[Client], object]) -> None:
    ear = Ear()
    pages = {"/broken": lambda: (503, "text/plain", b"not ready")}
    with running(echo, on_rejection=ear, pages=pages) as server, server.client() as client:
        act(client)
    assert ear.heard == []
