"""Clients that never read, together: the limit of unsent bytes holds, and a client that reads is served."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from websockets.frames import Opcode

from entresol.server.handler import ClientConnection
from entresol.server.responses import HttpResponse
from tests.support.http_server import HELLO, post_request, running_server
from tests.support.polling import eventually

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
        unsent = server.server.unsent
        eventually(lambda: unsent.dropped >= CLIENTS - limit // (4 * MIB))
        server.call(lambda: unsent.sweep(server.server.counters.bytes_sent))
        assert unsent.total <= limit
        assert reading.post(b"{}").body == b" " * (8 * MIB)
    assert set(reasons) == {"too much unread by all clients together"}
