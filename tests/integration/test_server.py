"""HTTP over real sockets: framing, order, rejections, limits, abuse."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import socket
import struct
from collections.abc import Awaitable, Iterator
from contextlib import ExitStack
from functools import partial
from http import HTTPStatus
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol.errors import AddressUnavailable
from entresol.rpc.jsonrpc.errors import JSON_RPC
from entresol.server.config import ServerConfig
from entresol.server.handler import ClientConnection
from entresol.server.limits import allow_open_files
from entresol.server.pages import StaticFile
from entresol.server.server import Server
from tests.support.http_server import (
    HELLO,
    RawConnection,
    RunningServer,
    echo,
    post_request,
)
from tests.support.http_server import (
    running_server as serve,
)
from tests.support.polling import PATIENCE_SECONDS, eventually
from tests.support.run.examples import examples

CHUNKED = post_request(b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
PARSE_ERROR = {
    "jsonrpc": "2.0",
    "id": None,
    "error": {"code": -32700, "message": "Parse error"},
}


@pytest.fixture
def client() -> Iterator[RawConnection]:
    """Return a client of a server that echoes."""
    pages = {
        "/health": lambda: (503, "application/json", b'{"ready":false}'),
        "/broken": lambda: (1 // 0, "", b""),
    }
    with serve(echo, pages=pages) as server, server.client() as client:
        yield client


async def later(body: bytes) -> bytes:
    for _ in range(3):
        await asyncio.sleep(0)
    return body


def sometimes_later(body: bytes, connection: ClientConnection) -> bytes | Awaitable[bytes]:
    """Delay the response to requests that say so."""
    return later(body) if b"later" in body else echo(body, connection)


class Gate:
    """A handler that responds when it is allowed to."""

    def __init__(self) -> None:
        self.requests = 0
        self.event = asyncio.Event()

    async def __call__(self, body: bytes, connection: ClientConnection) -> bytes:
        self.requests += 1
        await self.event.wait()
        return echo(body, connection)


# Framing.


def test_a_notification_gets_an_empty_response() -> None:
    with serve(lambda _body, _connection: None) as server, server.client() as client:
        assert client.post()[::2] == (200, b"")


def test_pipelined_requests_get_responses_in_order() -> None:
    bodies = [b'{"later":%d}' % n if n % 3 else b'{"now":%d}' % n for n in range(50)]
    with serve(sometimes_later) as server, server.client() as client:
        client.send(b"".join(map(post_request, bodies)))
        assert [client.response().body for _ in bodies] == bodies


def of_any_kind(body: bytes, _connection: ClientConnection) -> bytes | Awaitable[bytes] | None:
    """Respond as a request says: at once or later, short or long, with nothing, or by raising."""
    kind = json.loads(body)["kind"]
    if kind == "fail":
        raise RuntimeError(kind)
    if kind == "none":
        return None
    response = b'{"kind":"%b%b"}' % (kind.encode(), b"x" * (100_000 if kind == "long" else 0))
    return later(response) if kind == "late" else response


KINDS = ("once", "late", "long", "none", "fail")


@pytest.mark.parametrize("zipped", [False, True])
def test_requests_with_the_same_head_get_their_own_responses(zipped: bool) -> None:
    accepted = ["Accept-Encoding: gzip"] if zipped else []
    kinds = [kind for first in KINDS for second in KINDS for kind in (first, second, "once")]
    with serve(of_any_kind) as server, server.client() as client:
        for kind in kinds:
            client.send(post_request(b'{"kind":"%b"}' % kind.encode(), *accepted))
            status, headers, body = client.response()
            assert status == 200
            if headers.get("content-encoding") == "gzip":
                assert (zipped, kind) == (True, "long")
                body = gzip.decompress(body)
            expected = {"fail": b'"Internal error"', "none": b""}.get(kind, kind.encode())
            assert expected in body
            assert bool(body) == (kind != "none")


def _send_received(server: RunningServer, client: RawConnection, data: bytes) -> None:
    """Send `data`, and return once the server has it, so that it does not come together with what follows."""
    counters = server.server.state.counters
    expected = counters.bytes_received + len(data)
    client.send(data)
    eventually(lambda: counters.bytes_received == expected)


@pytest.mark.parametrize("pieces", [1, 2])
@pytest.mark.parametrize("known", [0, 1, 2])
def test_a_body_may_follow_its_head(known: int, pieces: int) -> None:
    head, half = post_request(HELLO)[: -len(HELLO)], len(HELLO) // pieces
    with serve(echo) as server, server.client() as client:
        for _ in range(known):
            assert client.post().body == HELLO
        for _ in range(3):
            _send_received(server, client, head)
            for at in range(0, len(HELLO), half):
                _send_received(server, client, HELLO[at : at + half])
            assert client.response().body == HELLO
        assert client.post().body == HELLO


@pytest.mark.parametrize("known", [0, 1, 2])
def test_what_follows_a_head_is_checked(known: int) -> None:
    with serve(echo) as server, server.client() as client:
        for _ in range(known):
            assert client.post().body == HELLO
        _send_received(server, client, post_request(HELLO)[: -len(HELLO)])
        client.send(b"x" * len(HELLO) + post_request(HELLO))
        assert client.response().status == 400
        assert client.response().body == HELLO


@pytest.mark.parametrize("known", [0, 1, 2])
def test_a_head_whose_body_does_not_follow_times_out(known: int) -> None:
    with serve(echo, body_seconds=0.2) as server, server.client() as client:
        for _ in range(known):
            assert client.post().body == HELLO
        client.send(post_request(HELLO)[: -len(HELLO)])
        assert client.response().status == 408
        assert client.rest() == b""


@pytest.mark.parametrize("known", [0, 1, 2])
def test_stopping_waits_for_the_body_that_follows_a_head(known: int) -> None:
    with serve(echo) as server, server.client() as client:
        for _ in range(known):
            assert client.post().body == HELLO
        _send_received(server, client, post_request(HELLO)[: -len(HELLO)])
        stopped = server.begin(server.server.stop(10))
        eventually(lambda: server.server.state.stopping)
        client.send(HELLO)
        assert client.response().body == HELLO
        assert client.rest() == b""
        stopped()


def test_a_client_that_expects_100_continue_gets_it(client: RawConnection) -> None:
    whole = post_request(HELLO, "Expect: 100-continue")
    client.send(whole[: -len(HELLO)])
    assert client.response().status == 100
    client.send(HELLO)
    assert client.response().body == HELLO


def test_a_chunked_body_is_read(client: RawConnection) -> None:
    head = (
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n"
    )
    client.send(head + b'3\r\n{"a\r\n4;x=y\r\n":1}\r\n0\r\nContent-Type: trailer\r\n\r\n')
    assert client.response().body == b'{"a":1}'
    assert client.post().status == 200


def test_long_responses_are_compressed_on_request(client: RawConnection) -> None:
    for size in (1025, 100_000):
        body = b"[" + b" " * size + b"]"
        _, headers, data = client.post(body, "Accept-Encoding: deflate, gzip;q=0.5")
        assert headers["content-encoding"] == "gzip"
        assert headers["vary"] == "accept-encoding"
        assert gzip.decompress(data) == body


@pytest.mark.parametrize("accepted", ["Accept-Encoding: gzip;q=0", "Accept-Encoding: br", "X: y"])
def test_responses_are_not_compressed_without_request(client: RawConnection, accepted: str) -> None:
    assert "content-encoding" not in client.post(b"[" + b" " * 2000 + b"]", accepted).headers


def test_connection_close_is_obeyed(client: RawConnection) -> None:
    response = client.post(HELLO, "Connection: close")
    assert (response.body, response.headers["connection"]) == (HELLO, "close")
    assert client.rest() == b""


def test_http_1_0_may_request_keep_alive(client: RawConnection) -> None:
    head = b"POST / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Type: application/json\r\n"
    for _ in range(2):
        client.send(head + b"Content-Length: 2\r\n\r\n[]")
        assert client.response().headers["connection"] == "keep-alive"


def test_the_handler_sees_path_and_host() -> None:
    def tell(_body: bytes, connection: ClientConnection) -> bytes:
        return f"{connection.transport} {connection.path} {connection.host}".encode()

    with serve(tell) as server, server.client() as client:
        assert client.post(path="/eth_call?x=1").body == b"http /eth_call localhost"
        assert client.post(path="http://node/zks_x").body == b"http /zks_x localhost"


# Pages and web pages.


def test_pages_are_served(client: RawConnection) -> None:
    client.send(b"GET /health?now HTTP/1.1\r\nHost: localhost\r\n\r\n")
    status, headers, body = client.response()
    assert (status, headers["content-type"], body) == (
        503,
        "application/json",
        b'{"ready":false}',
    )


def test_a_broken_page_leaves_the_server_working(
    client: RawConnection, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        client.send(b"GET /broken HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.response().status == 500
    assert "ZeroDivisionError" in caplog.text
    assert client.post().status == 200


@pytest.mark.parametrize("verb", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_not_allowed(client: RawConnection, verb: str) -> None:
    client.send(f"{verb} / HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    response = client.response()
    assert response.status == 405
    assert response.headers["allow"] == "POST, GET, OPTIONS"
    assert client.post().status == 200


def test_any_origin_is_allowed_by_default(client: RawConnection) -> None:
    assert client.post().headers["access-control-allow-origin"] == "*"
    client.send(
        b"OPTIONS / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://page\r\n"
        b"Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: x-y\r\n\r\n"
    )
    status, headers, _ = client.response()
    assert (status, headers["access-control-allow-origin"]) == (204, "*")
    assert headers["access-control-allow-methods"] == "POST, GET"
    assert headers["access-control-allow-headers"] == "x-y"
    assert client.post().status == 200


# Rejections.


@pytest.mark.parametrize(
    "kind",
    [
        "application/json",
        "application/json; charset=utf-8",
        "application/json;charset=utf-8",
        "application/json-rpc",
        "application/json-rpc; charset=utf-8",
        "Application/JSON-RPC;Charset=UTF-8",
    ],
)
def test_json_content_types_are_accepted(client: RawConnection, kind: str) -> None:
    assert client.post(HELLO, f"Content-Type: {kind}").status == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/json; charset=latin-1", ""])
def test_other_content_types_are_rejected(client: RawConnection, kind: str) -> None:
    assert client.post(HELLO, f"Content-Type: {kind}").status == 415
    assert client.post().status == 200


@pytest.mark.parametrize("body", [b"", b"1", b'"text"', b"nonsense", b"   "])
def test_a_body_that_is_no_object_or_array_is_a_bad_request(
    client: RawConnection, body: bytes
) -> None:
    status, _, response = client.post(body)
    assert (status, json.loads(response)) == (400, PARSE_ERROR)


def test_a_client_that_sends_a_long_body_first_still_reads_the_rejection() -> None:
    with serve(echo, body_limit_bytes=1000) as server, server.client() as client:
        assert client.post(b" " * 8_000_000).status == 413


def test_endless_trailers_are_rejected() -> None:
    with serve(echo, body_limit_bytes=1000) as server, server.client() as client:
        client.send(CHUNKED + b"2\r\n[]\r\n0\r\n")
        client.send(b"x: y\r\n" * 100_000)
        assert client.response().status == 413


def test_a_handler_that_raises_is_logged_and_reported_without_internals(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail_later() -> bytes:
        raise ValueError("secret")

    def fail(body: bytes, _connection: ClientConnection) -> Awaitable[bytes]:
        if b"later" in body:
            return fail_later()
        raise ValueError("secret")

    with serve(fail) as server, server.client() as client:
        for body in (b"{}", b'{"later":1}'):
            status, _, response = client.post(body)
            assert (status, json.loads(response)["error"]["code"]) == (200, -32603)
            assert b"secret" not in response
    assert caplog.text.count("ValueError: secret") == 2


def test_a_connection_over_the_limit_is_rejected() -> None:
    with serve(echo, connection_limit=2) as server, server.client() as first:
        with server.client() as second:
            assert first.post().status == second.post().status == 200
            with server.client() as third:
                assert third.response().status == 503
                assert third.rest() == b""
            assert server.server.state.counters.connections_rejected == 1
        eventually(lambda: server.server.state.counters.connections_open == 1)
        with server.client() as fourth:
            assert fourth.post().status == 200


# Time.


def test_a_byte_now_and_then_does_not_extend_the_time() -> None:
    with serve(echo, header_seconds=1.0) as server, server.client() as client:
        client.send(b"POST / HTTP/1.1\r\nX: ")
        client.socket.setblocking(False)

        def is_rejected() -> bool:
            client.socket.send(b"x")
            try:
                client.unread += client.socket.recv(1000)
            except BlockingIOError:
                return False
            return True

        eventually(is_rejected)
        client.socket.settimeout(PATIENCE_SECONDS)
        assert client.response().status == 408


def test_a_connection_that_repeats_a_request_is_not_idle() -> None:
    with serve(echo) as server, server.client() as client:
        for _ in range(3):
            assert client.post().status == 200
        # As if the time had passed since the first request.
        server.call(partial(_expire_all, server.server))
        assert client.post().status == 200
        server.call(partial(_expire_all, server.server))
        server.call(partial(_expire_all, server.server))
        assert client.rest() == b""


def _expire_all(server: Server) -> None:
    for connection in tuple(server.state.open):
        connection.expire()


def test_a_connection_that_never_sends_a_request_is_closed() -> None:
    with serve(echo, header_seconds=0.1) as server, server.client() as client:
        assert client.rest() == b""


def test_a_slow_handler_is_not_a_slow_client() -> None:
    # No less, since even this client needs a moment to send.
    times: dict[str, Any] = {"idle_seconds": 1.0, "header_seconds": 1.0, "body_seconds": 1.0}
    gate = Gate()
    with serve(gate, **times) as server, server.client() as client, server.client() as idle:
        client.send(post_request(HELLO))
        eventually(lambda: gate.requests == 1)
        assert idle.rest() == b""
        with server.client() as another:
            assert another.rest() == b""
        server.call(gate.event.set)
        assert client.response().body == HELLO


def test_a_client_that_never_reads_is_disconnected() -> None:
    response = b"[" + b"1" * 1_000_000 + b"]"
    limits: dict[str, Any] = {"write_seconds": 0.2, "write_buffer_bytes": 100_000}
    with (
        serve(lambda _body, _connection: response, **limits) as server,
        server.client(receive_buffer=4096) as client,
    ):
        client.send(post_request(HELLO) * 500)
        counters = server.server.state.counters
        eventually(lambda: counters.connections_total == 1 and counters.connections_open == 0)
        # It did not prepare what nobody was going to read.
        assert counters.requests_total < 50


# Abuse.


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"POST / HTTP/1.1\r\nno colon\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        post_request(HELLO, "Content-Length: 99999999999999999999999"),
        CHUNKED + b"zz\r\n",
        CHUNKED + b"ffffffffffffffffff\r\n",
        b"POST / HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nX\x00: y\r\n\r\n",
        b"\x00" * 1000,
    ],
)
def test_garbage_is_a_bad_request(client: RawConnection, garbage: bytes) -> None:
    client.send(garbage)
    assert client.response().status == 400
    assert client.rest() == b""


@pytest.mark.parametrize("piece", [b"x", b"x: y\r\n", b"x" * 1000 + b": y\r\n"])
def test_endless_headers_are_rejected(client: RawConnection, piece: bytes) -> None:
    client.send(b"POST / HTTP/1.1\r\n" + piece * (3_000_000 // len(piece)))
    assert client.response().status == 431


def test_a_half_closed_client_that_waits_for_long_gets_its_response() -> None:
    gate = Gate()
    with serve(gate) as server, server.client() as client:
        client.send(post_request(HELLO))
        client.socket.shutdown(socket.SHUT_WR)
        # An interim response finds out that the client is there, and every client skips it.
        assert client.response().status == HTTPStatus.CONTINUE
        server.call(gate.event.set)
        response = client.response()
        while response.status == HTTPStatus.CONTINUE:
            response = client.response()
        assert response.body == HELLO


def test_a_client_that_is_gone_is_noticed_while_its_request_runs() -> None:
    gate, closed = Gate(), []

    def handle(body: bytes, connection: ClientConnection) -> Awaitable[bytes]:
        connection.on_close(lambda: closed.append(gate.requests))
        return gate(body, connection)

    with serve(handle) as server:
        with server.client() as client:
            client.send(post_request(HELLO))
            eventually(lambda: gate.requests == 1)
        eventually(lambda: closed)
        assert not gate.event.is_set()
        server.call(gate.event.set)


def test_half_a_request_before_eof_is_dropped() -> None:
    with serve(echo) as server, server.client() as client:
        client.send(post_request(HELLO)[:-1])
        client.socket.shutdown(socket.SHUT_WR)
        assert client.rest() == b""
        eventually(lambda: server.server.state.counters.connections_open == 0)


def test_the_request_of_a_disconnected_client_finishes() -> None:
    left = asyncio.Event()
    finished = []

    async def notice(body: bytes, connection: ClientConnection) -> bytes:
        connection.on_close(left.set)
        await left.wait()
        finished.append(connection.closed)
        return body

    with serve(notice) as server:
        with server.client() as client:
            client.send(post_request(HELLO))
            eventually(lambda: server.server.state.counters.requests_total == 1)
            # Without this, closing looks like having sent all requests.
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        eventually(lambda: finished == [True])


def test_thousands_of_idle_connections_stay_open() -> None:
    count = 2000
    assert allow_open_files(2 * count + 200) >= 2 * count + 200
    # However long it takes to connect all of them.
    with serve(echo, header_seconds=PATIENCE_SECONDS) as server, ExitStack() as stack:
        clients = [stack.enter_context(server.client()) for _ in range(count)]
        eventually(lambda: server.server.state.counters.connections_open == count)
        assert clients[0].post().status == clients[-1].post().status == 200


# Start and stop.


def test_stopping_lets_requests_in_progress_finish() -> None:
    gate = Gate()
    with serve(gate) as server, server.client() as busy, server.client() as idle:
        busy.send(post_request(HELLO))
        eventually(lambda: gate.requests == 1)
        stopped = server.begin(server.server.stop(10))
        assert idle.rest() == b""
        with pytest.raises(ConnectionError):
            RawConnection(server.port)
        server.call(gate.event.set)
        assert busy.response().body == HELLO
        assert busy.rest() == b""
        stopped()


def test_stopping_ends_at_the_deadline() -> None:
    gate = Gate()
    with serve(gate) as server, server.client() as client:
        client.send(post_request(HELLO))
        eventually(lambda: gate.requests == 1)
        server.begin(server.server.stop(0.05))()
        with pytest.raises((EOFError, ConnectionError)):
            client.response()


def test_a_server_on_two_ports_serves_the_same_on_both() -> None:
    with serve(echo) as server:
        twice = Server(echo, JSON_RPC, ServerConfig(port=0), extra_port=0)
        server.begin(twice.start())()
        try:
            ports = [twice.port, twice.extra_port]
            assert len({*ports, 0, None}) == 4
            for port in ports:
                with RawConnection(port or 0) as client:
                    client.send(post_request(HELLO))
                    assert client.response().body == HELLO
        finally:
            server.begin(twice.stop(0))()


def test_a_busy_second_port_is_named_and_the_first_one_is_free_again() -> None:
    with serve(echo) as server:
        again = Server(echo, JSON_RPC, ServerConfig(port=0), extra_port=server.port)
        with pytest.raises(
            AddressUnavailable, match=rf"port {server.port} .* --extra-port"
        ) as busy:
            server.begin(again.start())()
        assert str(busy.value.of_layer_one()).endswith("--l1-extra-port")
        assert again.port
        taken = Server(echo, JSON_RPC, ServerConfig(port=again.port))
        server.begin(taken.start())()
        server.begin(taken.stop(0))()


STREAM = (
    post_request(HELLO, "Accept-Encoding: gzip")
    + post_request(b"nonsense")
    + b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    + b"\r\nPUT /x HTTP/1.1\r\nHost: evil\r\nContent-Length: 3\r\n\r\nabc"
    + CHUNKED
    + b'3\r\n{"a\r\n4\r\n":1}\r\n0\r\nx: y\r\n\r\n'
    + post_request(b"[1]", path="/eth_call?a=b")
    + post_request(b"[2]", "Connection: close")
    + b"what follows does not count"
)


@pytest.fixture(scope="module")
def splitting() -> Iterator[tuple[RunningServer, bytes]]:
    """Return a server, and its response to the whole stream in one chunk."""
    with serve(echo, pages={"/health": lambda: (200, "text/plain", b"well")}) as server:
        with server.client() as client:
            client.send(STREAM)
            whole = client.rest()
        assert whole.count(b"HTTP/1.1 ") == 7
        yield server, whole


@settings(max_examples=examples(150))
@given(cuts=st.sets(st.integers(1, len(STREAM) - 1), max_size=40))
def test_it_does_not_matter_how_the_bytes_are_split(
    splitting: tuple[RunningServer, bytes], cuts: set[int]
) -> None:
    server, whole = splitting
    with server.client() as client:
        for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(STREAM)], strict=True):
            client.send(STREAM[start:end])
        assert client.rest() == whole


def test_files_are_served_from_memory_with_tags() -> None:
    page = StaticFile.of(b"<p>floors</p>", "text/html")
    style = StaticFile.of(b"p { }" * 1000, "text/css")
    with (
        serve(echo, files=lambda: {"/": page, "/explorer/base.css": style}) as server,
        server.client() as client,
    ):
        client.send(b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n\r\n")
        assert client.response().body == page.body
        client.send(b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n")
        assert client.response().status == 405
        get = b"GET /explorer/base.css HTTP/1.1\r\nHost: localhost\r\n"
        client.send(get + b"Accept-Encoding: gzip\r\n\r\n")
        response = client.response()
        assert response.headers["content-encoding"] == "gzip"
        assert gzip.decompress(response.body) == style.body
        client.send(get + b"If-None-Match: " + response.headers["etag"].encode() + b"\r\n\r\n")
        assert client.response(to_head=True).status == 304
        client.send(get.replace(b"localhost", b"evil.example") + b"\r\n")
        assert client.response().status == 403
        assert client.post().status == 200
