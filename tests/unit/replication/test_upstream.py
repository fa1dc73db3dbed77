"""The way from a worker to its producer: requests with their client, its end, and pages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from entresol.replication.upstream import ChannelUpstream
from entresol.replication.workers.channel import client_number
from entresol.replication.workers.messages import WorkerCall, encode_page
from entresol.server.handler import LocalConnection

LAYER = 1


class Client(LocalConnection):
    """A client whose end is known."""

    def __init__(self) -> None:
        super().__init__()
        self.callbacks: list[Callable[[], object]] = []

    def on_close(self, callback: Callable[[], object]) -> None:
        self.callbacks.append(callback)


class Producer:
    """The other end of a channel."""

    def __init__(self, response: bytes = b"{}") -> None:
        self.calls: list[tuple[bytes, object]] = []
        self.begun: list[tuple[int, str]] = []
        self.ended: list[int] = []
        self._response = response

    async def call(self, payload: bytes, *, client: object = None) -> bytes:
        self.calls.append((payload, client))
        return self._response

    def begin_client(self, client: int, address: str) -> None:
        self.begun.append((client, address))

    def end_client(self, client: int) -> None:
        self.ended.append(client)


def upstream(producer: Producer) -> ChannelUpstream:
    return ChannelUpstream(cast("Any", producer), LAYER, lambda: None)


async def forward(way: ChannelUpstream, client: Client) -> bytes | None:
    return await way.forward(b"request", client, waits=False, ordered=False)


def test_a_request_goes_with_its_layer_and_its_client() -> None:
    producer, client = Producer(), Client()
    assert asyncio.run(forward(upstream(producer), client)) == b"{}"
    assert producer.calls == [(bytes([WorkerCall.REQUEST, LAYER]) + b"request", client)]


def test_address_and_end_of_a_client_are_reported_once_however_many_requests_it_has_sent() -> None:
    producer, client = Producer(), Client()
    client.peer = "10.0.0.1:5"
    way = upstream(producer)
    for _ in range(3):
        asyncio.run(forward(way, client))
    assert producer.begun == [(client_number(client), "10.0.0.1:5")]
    for callback in client.callbacks:
        callback()
    assert producer.ended == [client_number(client)]


def test_a_page_is_that_of_the_producer() -> None:
    page = (200, "text/plain", b"ready")
    producer = Producer(encode_page(page))
    assert asyncio.run(upstream(producer).page("/health")) == page
    assert producer.calls == [(bytes([WorkerCall.PAGE, LAYER]) + b"/health", None)]
