"""Rejections that the server reports to its callback, over real sockets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from websockets.frames import Opcode

from entresol.server.handler import ClientConnection
from entresol.server.responses import HttpResponse
from tests.support.http_server import (
    HELLO,
    RawConnection,
    echo,
    post_request,
    running_server,
    upgrade_request,
)

CHUNKED = post_request(b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")


class Recorder:
    """Records rejections: status and reason."""

    def __init__(self) -> None:
        self.rejections: list[tuple[int, str]] = []

    def __call__(self, response: HttpResponse, connection: ClientConnection) -> None:
        assert connection.peer.startswith("127.0.0.1:")
        self.rejections.append((response.status, response.reason))


@pytest.mark.parametrize(
    ("sent", "status", "reason", "settings"),
    [
        (post_request(HELLO).replace(b"POST", b"PUT"), 405, "use POST", {}),
        (b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, "use POST", {}),
        (post_request(HELLO, "Content-Type: text/plain"), 415, "content type", {}),
        (post_request(HELLO, "Host: evil.example"), 403, "'evil.example'", {}),
        (post_request(b"{" * 99), 413, "Request is too big", {"body_limit_bytes": 20}),
        (CHUNKED + b"63\r\n" + b"{" * 99, 413, "too big", {"body_limit_bytes": 20}),
        (post_request(HELLO, "X: " + "x" * 999), 431, "too long", {"header_limit_bytes": 256}),
        (b"POST / HTTP/1.1\r\n", 408, "too long to arrive", {"header_seconds": 1.0}),
        (post_request(HELLO)[:-1], 408, "too long to arrive", {"body_seconds": 0.05}),
        (b"nonsense\r\n\r\n", 400, "not an HTTP request", {}),
        (b"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 400, "Host header", {}),
        (post_request(HELLO, "Expect: the unexpected"), 417, "100-continue", {}),
        (post_request(b"hello"), 400, "Parse error", {}),
        (post_request(HELLO) * 2, 429, "Too many requests", {"requests_per_second": 0.01}),
        (b"", 503, "too many connections", {"connection_limit": 1}),
        (
            upgrade_request("Origin: https://evil.example"),
            403,
            "Origin",
            {"cors_origins": ("https://a",)},
        ),
    ],
)
def test_a_rejection_is_reported_once_with_its_status_and_reason(
    sent: bytes, status: int, reason: str, settings: dict[str, Any]
) -> None:
    recorder = Recorder()
    with (
        running_server(echo, on_rejection=recorder, **settings) as server,
        server.client() as first,
    ):
        # The only connection that is allowed, where that is the limit.
        assert first.open_websocket().status == 101
        with server.client() as client:
            client.send(sent)
            statuses = [client.response().status]
            if statuses == [200]:
                statuses.append(client.response().status)
            assert statuses[-1] == status
    ((reported, why),) = recorder.rejections
    assert reported == status
    assert reason in why


def frames(client: RawConnection, *messages: bytes) -> None:
    assert client.open_websocket().status == 101
    for message in messages:
        client.send_frame(Opcode.TEXT, message)


@pytest.mark.parametrize(
    ("message", "code", "reason"), [(b"\xff", 1007, "UTF-8"), (b"{" * 2_000, 1009, "2000")]
)
def test_a_websocket_that_the_server_closes_is_reported_with_its_code(
    message: bytes, code: int, reason: str
) -> None:
    recorder = Recorder()
    with (
        running_server(echo, on_rejection=recorder, body_limit_bytes=1_000) as server,
        server.client() as client,
    ):
        frames(client, message)
        assert client.close_code() == code
    ((reported, why),) = recorder.rejections
    assert reported == code
    assert reason in why


def test_a_message_over_the_rate_is_reported() -> None:
    recorder = Recorder()
    with (
        running_server(echo, on_rejection=recorder, requests_per_second=0.01) as server,
        server.client() as client,
    ):
        frames(client, HELLO, HELLO)
        assert client.frame()[1] == HELLO
        assert b"Too many requests" in client.frame()[1]
    assert recorder.rejections == [(429, "Too many requests")]


def leave(client: RawConnection) -> None:
    frames(client, HELLO)
    client.frame()
    client.send_frame(Opcode.CLOSE, (1000).to_bytes(2))
    assert client.close_code() == 1000


def get_a_page(client: RawConnection) -> None:
    client.send(b"GET /broken HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert client.response().status == 503


def preflight(client: RawConnection) -> None:
    client.send(
        b"OPTIONS / HTTP/1.1\r\nHost: localhost\r\nAccess-Control-Request-Method: POST\r\n\r\n"
    )
    assert client.response().status == 204


@pytest.mark.parametrize("act", [RawConnection.post, leave, get_a_page, preflight])
def test_what_is_not_rejected_is_not_reported(act: Callable[[RawConnection], object]) -> None:
    recorder = Recorder()
    pages = {"/broken": lambda: (503, "text/plain", b"not ready")}
    with (
        running_server(echo, on_rejection=recorder, pages=pages) as server,
        server.client() as client,
    ):
        act(client)
    assert recorder.rejections == []
