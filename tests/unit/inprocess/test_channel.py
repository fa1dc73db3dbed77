"""Requests to a layer in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from entresol.inprocess.channel import MAX_UNREAD_BYTES, InProcessConnection, LayerChannel
from entresol.inprocess.loop_thread import LoopThread
from entresol.server.handler import ClientConnection


def echo(body: bytes, connection: ClientConnection) -> bytes:
    return connection.transport.encode() + b" " + body


@pytest.fixture
def channel() -> Iterator[LayerChannel]:
    loop = LoopThread("a loop")
    loop.start()
    yield LayerChannel(loop, echo, body_limit=10)
    loop.stop()


def test_a_request_over_the_limit_gets_the_error_of_the_server(channel: LayerChannel) -> None:
    for response in (channel.respond(b"0" * 11), asyncio.run(channel.respond_async(b"0" * 11))):
        assert b"Request is too big" in response
        assert b"Exceeded max limit of 10" in response


def test_a_subscriber_that_does_not_read_is_disconnected() -> None:
    received: list[bytes | None] = []
    connection = InProcessConnection(received.append)
    half = bytes(MAX_UNREAD_BYTES // 2)
    assert connection.send(half)
    assert connection.send(half)
    connection.mark_read(len(half))
    assert connection.send(half)
    assert not connection.send(b"more")
    assert connection.closed
    assert received[-1] is None
