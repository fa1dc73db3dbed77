"""Hostile clients of a real node: each is rejected in its own way, and other clients are served."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.support.http_server import RawConnection, post_request, raw_response, upgrade_request
from tests.support.inprocess_node import InprocessNode, inprocess_node

CHAIN_ID = b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
ANSWER = b'{"jsonrpc":"2.0","id":1,"result":"0x10e"}'
CONNECTION_LIMIT = 100
CHUNKED = post_request(b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")


@pytest.fixture(scope="module")
def node() -> Iterator[InprocessNode]:
    with unimpressed_node() as running:
        yield running


@pytest.fixture(scope="module")
def hurried() -> Iterator[InprocessNode]:
    """Return a node with short timeouts; clients that must not time out use another one."""
    with unimpressed_node("--header-seconds", "0.5", "--body-seconds", "0.5") as running:
        yield running


@contextmanager
def unimpressed_node(*flags: str) -> Iterator[InprocessNode]:
    """Run a node that rejects misbehaving clients, and logs no warning about it."""
    limit = ("--connection-limit", str(CONNECTION_LIMIT))
    with inprocess_node("--log-level", "warning", *limit, *flags) as running:
        before = running.printed()
        yield running
        assert running.printed() == before
        assert running.stop() == 0


@pytest.fixture
def client(node: InprocessNode) -> Iterator[RawConnection]:
    """Return a client; whatever it does, another one is served afterwards."""
    with RawConnection(node.port) as client:
        yield client
    with RawConnection(node.port) as another:
        assert another.post(CHAIN_ID).body == ANSWER


# Rejections


@pytest.mark.usefixtures("client")
def test_garbage_is_rejected_or_incomplete(node: InprocessNode) -> None:
    randomness = random.Random(7)
    for _ in range(300):
        with RawConnection(node.port) as garbler:
            start = randomness.choice(
                (b"", b"POST / HTTP/1.1\r\n", CHUNKED, upgrade_request(), post_request(CHAIN_ID))
            )
            garbler.send(start + randomness.randbytes(randomness.randrange(1, 200)))
            garbler.socket.shutdown(socket.SHUT_WR)
            response = _rest(garbler)
            assert response == b"" or response.startswith(b"HTTP/1.1 ")


def _rest(client: RawConnection) -> bytes:
    """Return what comes until the end, which may be an abrupt one."""
    try:
        return client.rest()
    except ConnectionResetError:
        return b""


# Time


@pytest.mark.parametrize("half", [b"POST / HTTP/1.1\r\nHost: localh", post_request(CHAIN_ID)[:-20]])
def test_many_incomplete_requests_delay_no_other_client(
    hurried: InprocessNode, half: bytes
) -> None:
    with ExitStack() as stack:
        slow = [
            stack.enter_context(RawConnection(hurried.port)) for _ in range(CONNECTION_LIMIT // 2)
        ]
        for waiting in slow:
            waiting.send(half)
        assert raw_response(hurried.port, post_request(CHAIN_ID, "Connection: close")).endswith(
            ANSWER
        )
        # Whose first byte came too late was closed without a word.
        ends = {_rest(waiting)[:12] for waiting in slow}
        assert b"HTTP/1.1 408" in ends <= {b"HTTP/1.1 408", b""}


# WebSocket


@pytest.mark.usefixtures("client")
def test_websockets_that_open_and_leave_leave_nothing_behind(node: InprocessNode) -> None:
    for _ in range(2 * CONNECTION_LIMIT):
        with RawConnection(node.port) as leaving:
            assert leaving.open_websocket().status == 101
