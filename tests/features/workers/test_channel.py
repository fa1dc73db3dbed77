"""The channel between a producer and its workers."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from entresol.errors import ProducerUnavailable
from entresol.features.workers.channel import (
    MAX_UNSENT_BYTES,
    CallResponse,
    Channel,
    Packet,
    PacketKind,
    PacketQueue,
    client_number,
)

MANY = 2_000


class Peer:
    """Answers as the payload says."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.bugs: list[BaseException] = []
        self.cancelled = asyncio.Event()
        self.closed = asyncio.Event()
        self.drained = asyncio.Event()
        self.served: list[bytes] = []
        self.clients: list[int] = []

    def on_client(self, client: int, address: str) -> None:
        self.served.append(b"%d comes from %b" % (client, address.encode()))

    def on_gone(self, client: int) -> None:
        self.served.append(b"gone %d" % client)

    def on_call(self, payload: bytes, client: int) -> CallResponse:
        self.clients.append(client)
        self.served.append(payload)
        match payload:
            case b"never":
                return self._never()
            case b"none":
                return None
            case b"bug":
                raise ValueError("a bug")
            case b"later bug":
                return self._bug()
        return payload.upper()

    def on_message(self, payload: bytes) -> None:
        self.messages.append(payload)

    def on_close(self) -> None:
        self.closed.set()

    def on_drained(self) -> None:
        self.drained.set()

    async def _never(self) -> bytes:
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()
        return b""

    async def _bug(self) -> bytes:
        await asyncio.sleep(0)
        raise ValueError("a bug")


@asynccontextmanager
async def ends() -> AsyncIterator[tuple[Channel, Channel, Peer]]:
    """Yield both ends of a channel, and the peer of the second."""
    sockets = socket.socketpair()
    ours, theirs = Peer(), Peer()
    first = await Channel.open(sockets[0], ours, on_bug=ours.bugs.append)
    second = await Channel.open(sockets[1], theirs, on_bug=theirs.bugs.append)
    yield first, second, theirs
    first.close()
    await theirs.closed.wait()


async def test_the_end_of_a_client_follows_its_calls() -> None:
    client, other = object(), object()
    async with ends() as (first, _second, peer):
        calls = [asyncio.ensure_future(first.call(b"x", client=client)) for _ in range(MANY)]
        await asyncio.sleep(0)
        first.end_client(client_number(client))
        assert await first.call(b"y", client=other) == b"Y"
        await asyncio.gather(*calls)
        assert peer.served.count(b"x") == MANY
        assert set(peer.clients) == {client_number(client), client_number(other)}
        while b"gone %d" % client_number(client) not in peer.served:
            await first.call(b"z", client=client)
        gone = peer.served.index(b"gone %d" % client_number(client))
        assert b"x" not in peer.served[gone:]


async def test_a_call_without_a_response_in_time_fails_and_is_cancelled() -> None:
    async with ends() as (first, _second, peer):
        with pytest.raises(ProducerUnavailable, match=r"did not respond in 0\.05 seconds"):
            await first.call(b"never", 0.05)
        await peer.cancelled.wait()


async def test_clients_take_turns() -> None:
    async with ends() as (first, _second, peer):
        flood, other = object(), object()
        calls = [first.call(b"a", client=flood) for _ in range(MANY)]
        await asyncio.gather(*calls, first.call(b"b", client=other))
        # The system passes on some hundred calls at a time.
        assert peer.served.index(b"b") < MANY // 4


async def test_a_call_that_is_cancelled_before_its_turn_is_not_served() -> None:
    async with ends() as (first, _second, peer):
        calls = [asyncio.ensure_future(first.call(b"%d" % it)) for it in range(MANY)]
        await asyncio.sleep(0)
        calls[-1].cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await first.call(b"x")
        assert b"%d" % (MANY - 1) not in peer.served


async def test_messages_to_a_side_that_does_not_read_are_dropped() -> None:
    async with ends() as (first, second, peer):
        transport = second._transport
        assert transport is not None
        transport.pause_reading()
        for _ in range(100):
            first.send(b"m" * (1 << 20))
        assert first.unsent_bytes <= MAX_UNSENT_BYTES + (2 << 20)
        transport.resume_reading()
        await first.call(b"x")
        assert len(peer.messages) < 40


async def test_a_long_response_makes_no_side_miss_messages() -> None:
    async with ends() as (first, second, peer):
        transport = second._transport
        assert transport is not None
        call = asyncio.ensure_future(second.call(b"m" * (MAX_UNSENT_BYTES + (4 << 20))))
        await asyncio.sleep(0)
        transport.pause_reading()
        while first.unsent_bytes <= MAX_UNSENT_BYTES:  # noqa: ASYNC110 - a transport has no event for it
            await asyncio.sleep(0)
        first.send(b"still read")
        transport.resume_reading()
        await call
        await first.call(b"x")
        assert peer.messages == [b"still read"]


async def test_the_end_of_the_other_side_ends_calls() -> None:
    async with ends() as (first, second, _peer):
        call = asyncio.ensure_future(first.call(b"never"))
        await asyncio.sleep(0)
        second.close()
        with pytest.raises(ProducerUnavailable, match="has ended"):
            await call
        with pytest.raises(ProducerUnavailable, match="has ended"):
            await first.call(b"x")


@pytest.mark.parametrize("payload", [b"bug", b"later bug"])
async def test_a_bug_is_reported_where_it_is(payload: bytes) -> None:
    async with ends() as (first, _second, peer):
        with pytest.raises(ProducerUnavailable, match="has logged why"):
            await first.call(payload)
        assert [str(bug) for bug in peer.bugs] == ["a bug"]


def queue_of(*packets: tuple[int, int]) -> PacketQueue:
    """Return a queue of calls, each by its client and its number."""
    queue = PacketQueue()
    for client, number in packets:
        queue.put(Packet(PacketKind.CALL, client, number, b"four"))
    return queue


def order(queue: PacketQueue) -> list[tuple[int, int]]:
    taken = []
    while queue:
        packet = queue.take()
        taken.append((packet.client, packet.number))
    return taken


def test_clients_take_turns_and_each_has_its_order() -> None:
    queue = queue_of((1, 1), (1, 2), (1, 3), (2, 4), (3, 5), (3, 6))
    assert order(queue) == [(1, 1), (2, 4), (3, 5), (1, 2), (3, 6), (1, 3)]
    assert queue.size == 0
