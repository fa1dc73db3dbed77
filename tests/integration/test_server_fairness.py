"""However much one client sends at once, others are served in between."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest
from websockets.frames import Frame, Opcode

from entresol.server.handler import ClientConnection
from entresol.server.websocket import TOO_MANY_SMALL_FRAMES
from tests.support.http_server import (
    RawConnection,
    echo,
    post_request,
    running_server,
    upgrade_request,
)
from tests.support.polling import PATIENCE_SECONDS

FIRST, LAST, OTHER = b'{"first":1}', b'{"last":1}', b'{"other":1}'
COUNT = 500
"""How often a flood repeats, within the 64 KiB that fit into a socket's buffer."""
EMPTY = Frame(Opcode.CONT, b"", fin=False).serialize(mask=True)


class Recorder:
    """Records the order of requests; the first one holds the event loop until `release`."""

    def __init__(self) -> None:
        self.order: list[bytes] = []
        self.started, self.release = threading.Event(), threading.Event()
        self.ended = threading.Event()

    def __call__(self, body: bytes, connection: ClientConnection) -> bytes:
        del connection
        if body in {FIRST, LAST, OTHER}:
            self.order.append(body)
        if body == FIRST:
            self.started.set()
            self.release.wait(PATIENCE_SECONDS)
        elif body == LAST:
            self.ended.set()
        return body


def text(data: bytes, *, fin: bool = True) -> bytes:
    return Frame(Opcode.TEXT, data, fin=fin).serialize(mask=True)


def control(opcode: Opcode) -> bytes:
    return Frame(opcode, b"").serialize(mask=True)


WEBSOCKET_FLOODS = {
    "requests over a WebSocket": text(b"{}") * COUNT + text(LAST),
    "pings": control(Opcode.PING) * COUNT + text(LAST),
    "pongs": control(Opcode.PONG) * COUNT + text(LAST),
    "empty fragments": text(LAST, fin=False) + EMPTY * COUNT + Frame(Opcode.CONT, b"").serialize(mask=True),
}  # fmt: skip
HTTP_FLOODS = {
    "pipelined requests": post_request(b"{}") * COUNT + post_request(LAST),
    "pipelined pages": b"GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n" * COUNT + post_request(LAST),
    "pipelined rejections": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * COUNT + post_request(LAST),
}  # fmt: skip


@pytest.mark.parametrize("name", [*WEBSOCKET_FLOODS, *HTTP_FLOODS])
def test_another_client_is_served_before_a_flood_is(name: str) -> None:
    recorder = Recorder()
    pages = {"/page": lambda: (200, "text/plain", b"page")}
    unlimited: dict[str, Any] = {"small_frames_per_second": 1e9}
    with (
        running_server(recorder, pages=pages, **unlimited) as server,
        server.client() as blocking,
        server.client() as flooding,
        server.client() as other,
    ):
        assert other.post().status == 200
        if name in WEBSOCKET_FLOODS:
            assert flooding.open_websocket().status == 101
        else:
            assert flooding.post().status == 200
        blocking.send(post_request(FIRST))
        assert recorder.started.wait(PATIENCE_SECONDS)
        # All of this has arrived when the event loop reads again.
        flooding.send((WEBSOCKET_FLOODS | HTTP_FLOODS)[name])
        other.send(post_request(OTHER))
        recorder.release.set()
        reader = threading.Thread(target=_discard, args=(flooding,))
        reader.start()
        assert other.response().body == OTHER
        assert recorder.ended.wait(PATIENCE_SECONDS)
        flooding.socket.shutdown(socket.SHUT_RDWR)
        reader.join()
    assert recorder.order == [FIRST, OTHER, LAST]


def _discard(client: RawConnection) -> None:
    try:
        client.rest()
    except OSError:
        return


@pytest.mark.parametrize(
    "frame", [control(Opcode.PING), control(Opcode.PONG), EMPTY], ids=["pings", "pongs", "empty"]
)
def test_a_websocket_that_floods_with_small_frames_is_closed_with_the_reason(frame: bytes) -> None:
    with (
        running_server(echo, small_frames_per_second=1.0) as server,
        server.client() as client,
    ):
        assert client.open_websocket().status == 101
        client.send(text(b"{}", fin=False) if frame == EMPTY else text(b"{}"))
        client.send(frame * 100)
        while (received := client.frame())[0] is not Opcode.CLOSE:
            pass
        assert received[1] == (1008).to_bytes(2) + TOO_MANY_SMALL_FRAMES.encode()


def test_small_frames_within_the_rate_are_served() -> None:
    with (
        running_server(echo, small_frames_per_second=100.0) as server,
        server.client() as client,
    ):
        assert client.open_websocket().status == 101
        client.send(control(Opcode.PING) * 90 + text(b"{}"))
        for _ in range(90):
            assert client.frame() == (Opcode.PONG, b"")
        assert client.frame() == (Opcode.TEXT, b"{}")


def test_an_upgrade_behind_a_flood_on_one_connection_still_reads_its_frames() -> None:
    with running_server(echo) as server, server.client() as client:
        client.send(post_request(b"{}") + upgrade_request() + text(b'{"a":1}') * 3)
        assert client.response().body == b"{}"
        assert client.response().status == 101
        for _ in range(3):
            assert client.frame() == (Opcode.TEXT, b'{"a":1}')
