"""Clients of workers, forwarded to the producer."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Literal, Self, cast

from entresol.features.workers.channel import (
    CLUSTER,
    CallResponse,
    Channel,
    WorkerCall,
    WorkerMessage,
    client_number,
)
from entresol.features.workers.clients import (
    NUMBER_BYTES,
    ChannelUpstream,
    ClusterRequests,
    ForwardedClients,
    RemoteClients,
)
from entresol.server.handler import ClientConnection, LocalConnection

FIRST = (1).to_bytes(NUMBER_BYTES)


class Worker:
    def __init__(self) -> None:
        self.pushed: list[tuple[int, bytes]] = []
        self.clients = RemoteClients(self.push)

    def push(self, number: int, document: bytes) -> bool:
        self.pushed.append((number, document))
        return True


def test_a_document_is_pushed_with_the_number_of_its_client() -> None:
    worker = Worker()
    assert worker.clients.get(7, "/feed").send(b"x")
    assert worker.pushed == [(7, b"x")]


def test_a_client_is_remembered_while_somebody_wants_to_know_its_end() -> None:
    worker = Worker()
    worker.clients.get(7, "/feed")
    assert len(worker.clients) == 0
    client = worker.clients.get(7, "/feed")
    ended: list[int] = []
    client.on_close(lambda: ended.append(7))
    assert worker.clients.get(7, "/feed") is client
    worker.clients.close(7)
    worker.clients.close(7)
    assert (ended, len(worker.clients)) == ([7], 0)


def test_nothing_is_pushed_to_a_client_that_is_gone() -> None:
    worker = Worker()
    client = worker.clients.get(7, "/feed")
    ended: list[int] = []
    client.on_close(lambda: ended.append(1))
    worker.clients.close_all()
    assert not client.send(b"x")
    client.on_close(lambda: ended.append(2))
    assert (worker.pushed, ended) == ([], [1, 2])


class Producer:
    """The other end of a worker's channel, which responds when it is told to."""

    def __init__(self) -> None:
        self.calls: list[bytes] = []
        self.messages: asyncio.Queue[bytes] = asyncio.Queue()
        self.called = asyncio.Event()
        self.responds = asyncio.Event()

    def on_client(self, client: int, address: str) -> None: ...

    def on_gone(self, client: int) -> None: ...

    def on_call(self, payload: bytes, client: int) -> CallResponse:  # noqa: ARG002 - the interface has it
        self.calls.append(payload)
        self.called.set()
        return self._respond()

    def on_message(self, payload: bytes) -> None:
        self.messages.put_nowait(payload)

    def on_close(self) -> None: ...

    def on_drained(self) -> None: ...

    async def _respond(self) -> bytes:
        await self.responds.wait()
        return b"+"


class Client:
    """A connection of another node."""

    peer = host = ""
    is_foreign = False

    def __init__(self, transport: Literal["http", "ws"], path: str = "/cluster/pending") -> None:
        self.transport: Literal["http", "ws"] = transport
        self.path = path
        self.closed = False
        self.sent: list[bytes] = []
        self._callbacks: list[Callable[[], object]] = []

    def send(self, data: bytes) -> bool:
        self.sent.append(data)
        return True

    def outbox(self) -> Self:
        return self

    def disconnect(self, reason: str) -> None: ...

    def on_close(self, callback: Callable[[], object]) -> None:
        self._callbacks.append(callback)

    def close(self) -> None:
        self.closed = True
        for callback in self._callbacks:
            callback()


def local(body: bytes, connection: ClientConnection) -> bytes:
    del connection
    return b"local " + body


@asynccontextmanager
async def requesting() -> AsyncIterator[tuple[ClusterRequests, Producer]]:
    ends = socket.socketpair()
    producer = Producer()
    theirs = await Channel.open(ends[0], producer, on_bug=print)
    ours = await Channel.open(ends[1], Producer(), on_bug=print)
    yield ClusterRequests("/cluster/", ours), producer
    theirs.close()
    ours.close()


async def ask(requests: ClusterRequests, client: Client, body: bytes = b"x") -> bytes | None:
    answer = requests.wrap(local)(body, client)
    return answer if answer is None or isinstance(answer, bytes) else await answer


async def test_a_request_is_passed_on_with_its_path_and_the_number_of_a_websocket() -> None:
    async with requesting() as (requests, producer):
        producer.responds.set()
        kind = bytes([WorkerCall.REQUEST, CLUSTER])
        assert await ask(requests, Client("http", "/cluster/5")) == b"+"
        assert producer.calls == [kind + bytes(NUMBER_BYTES) + b"/cluster/5\nx"]
        client = Client("ws")
        for body in (b"y", b"z"):
            await ask(requests, client, body)
            assert producer.calls[-1] == kind + FIRST + b"/cluster/pending\n" + body


async def test_a_document_is_pushed_to_its_websocket_alone() -> None:
    async with requesting() as (requests, producer):
        producer.responds.set()
        first, second = Client("ws"), Client("ws")
        await ask(requests, first)
        await ask(requests, second)
        requests.push(FIRST + b"document")
        requests.push((9).to_bytes(NUMBER_BYTES) + b"for nobody")
        assert (first.sent, second.sent) == ([b"document"], [])


async def test_the_end_of_a_websocket_is_reported_after_its_last_request() -> None:
    async with requesting() as (requests, producer):
        client = Client("ws")
        asking = asyncio.ensure_future(ask(requests, client))
        await producer.called.wait()
        client.close()
        assert producer.messages.empty()
        producer.responds.set()
        await asking
        # What was sent before has arrived, once there is a response.
        await ask(requests, Client("http"))
        assert producer.messages.get_nowait()[0] == WorkerMessage.CLIENT_GONE


def test_the_end_of_a_client_is_reported_once() -> None:
    clients, ended = ForwardedClients(), []
    client = clients.get(7)
    client.on_close(lambda: ended.append("before"))
    clients.close(7)
    clients.close(7)
    client.on_close(lambda: ended.append("after"))
    assert client.closed
    assert ended == ["before", "after"]


def test_all_clients_end_with_their_worker() -> None:
    clients, ended = ForwardedClients(), list[int]()
    for number in range(3):
        clients.get(number).on_close(partial(ended.append, number))
    clients.close_all()
    assert ended == [0, 1, 2]
    assert len(clients) == 0


class EndingClient(LocalConnection):
    """A client whose end is known."""

    def __init__(self) -> None:
        super().__init__()
        self.callbacks: list[Callable[[], object]] = []

    def on_close(self, callback: Callable[[], object]) -> None:
        self.callbacks.append(callback)


class OtherEnd:
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


def upstream(producer: OtherEnd) -> ChannelUpstream:
    return ChannelUpstream(cast("Any", producer), 1, lambda: None)


async def forward(way: ChannelUpstream, client: EndingClient) -> bytes | None:
    return await way.forward(b"request", client, waits=False, ordered=False)


def test_address_and_end_of_a_client_are_reported_once_however_many_requests_it_has_sent() -> None:
    producer, client = OtherEnd(), EndingClient()
    client.peer = "10.0.0.1:5"
    way = upstream(producer)
    for _ in range(3):
        asyncio.run(forward(way, client))
    assert producer.begun == [(client_number(client), "10.0.0.1:5")]
    for callback in client.callbacks:
        callback()
    assert producer.ended == [client_number(client)]
