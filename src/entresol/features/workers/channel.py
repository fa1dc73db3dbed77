"""The channel between the process that seals and its workers: what is sent, and how."""

from __future__ import annotations

import asyncio
import inspect
import struct
from collections.abc import Awaitable, Callable
from enum import IntEnum
from time import perf_counter
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias, cast

import msgspec

from entresol.errors import ProducerUnavailable

if TYPE_CHECKING:
    import socket

    from entresol.server.handler import PageResponse

LAYER_TWO: Final = 0
"""The first L2. Others follow, and the development L1 is the last."""
REMOTE_L1: Final = 254
"""In place of a layer: what the explorer reads from the L1 of --l1-url."""
CLUSTER: Final = 255
"""In place of a layer: a request of another node of the cluster.

Its payload is the number of the client (0 unless the producer may push to it), the path, a line break, and the body.
"""

_HEAD: Final = struct.Struct("!IBIQ")
"""Length of the payload, kind, client, number of the call."""

CALL_SECONDS: Final = 300.0
"""How long a call may take: longer than any method of a node that still responds."""

TURN_SECONDS: Final = 0.001
TURN_PACKETS: Final = 32
"""How long, and how many calls and responses, a channel serves in one turn of the event loop."""

MAX_QUEUED_BYTES: Final = 16 << 20
"""More is not read, until some of it is served."""

MAX_UNSENT_BYTES: Final = 32 << 20
"""While the other side has not taken so many bytes of messages, further ones are dropped."""

_MAX_CLIENT: Final = 2**32 - 1

CallResponse: TypeAlias = bytes | Awaitable[bytes | None] | None
"""The response to a call, now or later; None if the call has none."""


class WorkerCall(IntEnum):
    """The messages that have a response."""

    REQUEST = 0
    """A request or a batch of JSON-RPC, of a worker."""
    PAGE = 1
    """A page by its path, of a worker."""
    METRICS = 2
    """The metrics of a worker's process, of the producer."""


class WorkerMessage(IntEnum):
    """The messages that have none."""

    START = 0
    """To a worker: what it serves."""
    READY = 1
    """From a worker: it listens."""
    STOP = 2
    """To a worker."""
    SEALED = 3
    """To a worker with subscribers: the record of a new block."""
    TRANSACTION = 4
    """To a worker with subscribers: a pending transaction and its sender."""
    WANTED = 7
    """From a worker: it has other subscribers, as the state page says."""
    REVERTED = 6
    """To a worker with subscribers: a revert, with the records of its blocks."""
    LOG = 5
    """From a worker: lines of its log, to standard output; to standard error if the layer's byte is 1."""
    PUSH = 8
    """To a worker: the number of a client, and a document for it."""
    DAMAGED = 10
    """From a worker: what it could not read of a layer's store."""
    CLIENT_GONE = 9
    """From a worker: the number of a client that has made its last request."""


def encode_page(page: PageResponse) -> bytes:
    """Return the bytes that `decode_page` reads."""
    return msgspec.msgpack.encode(page)


def decode_page(payload: bytes) -> PageResponse:
    """Return a page."""
    status, content_type, body = msgspec.msgpack.decode(payload, type=tuple[int, str, bytes])
    return status, content_type, body


class PacketKind(IntEnum):
    """The kind of a packet."""

    CALL = 0
    RESPONSE = 1
    NO_RESPONSE = 2
    """The response to a call that has none, as a notification."""
    FAILED = 3
    """The call failed by a bug, which the other side has logged."""
    CANCEL = 4
    MESSAGE = 5
    GONE = 6
    """A client will make no more calls, and waits for none."""
    COMES = 7
    """A client will make calls; the payload is its address."""


_NUMBERED_BY_SENDER: Final = frozenset({PacketKind.CALL, PacketKind.GONE, PacketKind.COMES})


class Packet(NamedTuple):
    """A packet that was received."""

    kind: PacketKind
    client: int
    """On whose behalf the call is made."""
    number: int
    """The number of the call, by the side that makes it."""
    payload: bytes


class PacketQueue:
    """Queue of calls and responses, in which clients take turns.

    A client that makes many calls delays its own only. Remembers: the packets, of which clients have as many as they
    may have requests in progress.
    """

    def __init__(self) -> None:
        self._clients: dict[int, dict[tuple[bool, int], Packet]] = {}
        self.size = 0
        """How many bytes the payloads have."""

    def __bool__(self) -> bool:
        return bool(self._clients)

    def put(self, packet: Packet) -> None:
        """Add a call or a response behind the others of its client."""
        packets = self._clients.setdefault(packet.client, {})
        packets[_key(packet)] = packet
        self.size += len(packet.payload)

    def take(self) -> Packet:
        """Remove and return the next packet of the client whose turn it is."""
        client, packets = next(iter(self._clients.items()))
        del self._clients[client]
        packet = packets.pop(next(iter(packets)))
        if packets:
            self._clients[client] = packets
        self.size -= len(packet.payload)
        return packet

    def drop_call(self, client: int, number: int) -> None:
        """Remove a call that is cancelled before its turn, if it is here."""
        packets = self._clients.get(client, {})
        packet = packets.pop((True, number), None)
        if packet is not None:
            self.size -= len(packet.payload)
            if not packets:
                del self._clients[client]

    def clear(self) -> None:
        """Remove all."""
        self._clients.clear()
        self.size = 0


def _key(packet: Packet) -> tuple[bool, int]:
    # Each side numbers its own calls, and the beginnings and ends of clients among them.
    return packet.kind in _NUMBERED_BY_SENDER, packet.number


class ChannelPeer(Protocol):
    """The receiver of calls and messages of the other side."""

    def on_call(self, payload: bytes, client: int) -> CallResponse:
        """Return the response to a call for a client, or an awaitable of it."""

    def on_client(self, client: int, address: str) -> None:
        """Note the address of a client that will make calls."""

    def on_gone(self, client: int) -> None:
        """Act on the end of a client that has made calls."""

    def on_message(self, payload: bytes) -> None:
        """Take a message."""

    def on_close(self) -> None:
        """Act on the end of the connection."""

    def on_drained(self) -> None:
        """Act on messages having been dropped, now that the other side takes them again."""


class Channel(asyncio.Protocol):
    """One end of a connection.

    Clients take turns, and what they send together is served in turns of the event loop, so that others are served in
    between. Remembers: calls in progress, as many as clients may have requests in progress. Assumes: one event loop,
    and that the other end is of the same node, so that what it sends is well-formed. Fails: `call` raises
    `ProducerUnavailable`.
    """

    def __init__(self, peer: ChannelPeer, *, on_bug: Callable[[BaseException], object]) -> None:
        self._peer = peer
        self._on_bug = on_bug
        self._received = bytearray()
        self._calls: dict[int, asyncio.Future[bytes | None]] = {}
        self._serving: dict[int, asyncio.Future[None]] = {}
        self._queue = PacketQueue()
        self._is_scheduled = False
        self._unsent_messages = 0
        self._has_dropped = False
        self._number = 0
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def open(
        cls, end: socket.socket, peer: ChannelPeer, *, on_bug: Callable[[BaseException], object]
    ) -> Channel:
        """Return a channel over one end of a pair of sockets."""
        loop = asyncio.get_running_loop()
        _, channel = await loop.create_unix_connection(lambda: cls(peer, on_bug=on_bug), sock=end)
        return channel

    @property
    def unsent_bytes(self) -> int:
        """How many bytes the other side has not taken yet."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def send(self, payload: bytes) -> None:
        """Send a message, unless the other side has not taken 32 MiB of them; long responses do not count."""
        self._unsent_messages = min(self._unsent_messages, self.unsent_bytes)
        if self._unsent_messages > MAX_UNSENT_BYTES:
            self._has_dropped = True
            return
        self._unsent_messages += len(payload)
        self._write(PacketKind.MESSAGE, 0, 0, payload)

    async def call(
        self, payload: bytes, seconds: float = CALL_SECONDS, *, client: object = None
    ) -> bytes | None:
        """Return the response to a call for a client; raise `ProducerUnavailable` if there is none in time."""
        try:
            # Not `wait_for`, which on Python 3.11 can lose a cancellation.
            async with asyncio.timeout(seconds):
                return await self._call(payload, client_number(client))
        except TimeoutError:
            raise ProducerUnavailable(f"did not respond in {seconds:g} seconds") from None

    def begin_client(self, client: int, address: str) -> None:
        """Report the address of a client by its number, before the calls that are made for it."""
        self._number += 1
        self._write(PacketKind.COMES, client, self._number, address.encode())

    def end_client(self, client: int) -> None:
        """Report the end of a client by its number, behind the calls that were made for it."""
        self._number += 1
        self._write(PacketKind.GONE, client, self._number)

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.close()

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=MAX_UNSENT_BYTES)

    def pause_writing(self) -> None:
        """Do nothing: `send` decides by its own count."""

    def resume_writing(self) -> None:
        """Report that the other side reads again, if it has missed something."""
        if self._has_dropped:
            self._has_dropped = False
            self._peer.on_drained()

    def data_received(self, data: bytes) -> None:
        """Take the packets that are complete, and serve some of them."""
        received = self._received
        received += data
        start = 0
        while len(received) - start >= _HEAD.size:
            length, kind, client, number = _HEAD.unpack_from(received, start)
            end = start + _HEAD.size + length
            if len(received) < end:
                break
            payload = bytes(memoryview(received)[start + _HEAD.size : end])
            start = end
            self._on_packet(Packet(PacketKind(kind), client, number, payload))
        del received[:start]
        if not self._is_scheduled:
            self._serve_turn()

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - the interface has it
        """End all calls."""
        self._transport = None
        self._queue.clear()
        for call in self._calls.values():
            if not call.done():
                call.set_exception(ProducerUnavailable("has ended"))
        for serving in self._serving.values():
            serving.cancel()
        self._peer.on_close()

    # Packets

    def _on_packet(self, packet: Packet) -> None:
        match packet.kind:
            case PacketKind.MESSAGE:
                self._peer.on_message(packet.payload)
            case PacketKind.CANCEL:
                self._queue.drop_call(packet.client, packet.number)
                serving = self._serving.get(packet.number)
                if serving is not None:
                    serving.cancel()
            case _:
                self._queue.put(packet)

    def _serve_turn(self) -> None:
        """Serve what a turn of the event loop has time for, and schedule the rest."""
        self._is_scheduled = False
        end = perf_counter() + TURN_SECONDS
        for _ in range(TURN_PACKETS):
            if not self._queue or perf_counter() > end:
                break
            packet = self._queue.take()
            if packet.kind is PacketKind.CALL:
                self._serve(packet)
            elif packet.kind is PacketKind.COMES:
                self._peer.on_client(packet.client, packet.payload.decode())
            elif packet.kind is PacketKind.GONE:
                self._peer.on_gone(packet.client)
            else:
                self._finish(packet)
        if self._queue:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._serve_turn)
        self._read_within_bounds()

    def _read_within_bounds(self) -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        if self._queue.size > MAX_QUEUED_BYTES:
            transport.pause_reading()
        elif not transport.is_reading():
            transport.resume_reading()

    async def _call(self, payload: bytes, client: int) -> bytes | None:
        self._number += 1
        number = self._number
        future = asyncio.get_running_loop().create_future()
        self._calls[number] = future
        try:
            if not self._write(PacketKind.CALL, client, number, payload):
                raise ProducerUnavailable("has ended")
            response: bytes | None = await future
        except asyncio.CancelledError:
            self._write(PacketKind.CANCEL, client, number)
            raise
        finally:
            del self._calls[number]
        return response

    def _finish(self, packet: Packet) -> None:
        call = self._calls.get(packet.number)
        if call is None or call.done():
            return
        if packet.kind is PacketKind.FAILED:
            call.set_exception(ProducerUnavailable("failed, and has logged why"))
        else:
            call.set_result(packet.payload if packet.kind is PacketKind.RESPONSE else None)

    def _serve(self, call: Packet) -> None:
        try:
            response = self._peer.on_call(call.payload, call.client)
        except Exception as error:  # noqa: BLE001 - reported
            self._on_bug(error)
            self._write(PacketKind.FAILED, call.client, call.number)
            return
        if inspect.isawaitable(response):
            self._serving[call.number] = asyncio.ensure_future(self._respond_later(call, response))
        else:
            self._respond(call, response)

    async def _respond_later(self, call: Packet, response: Awaitable[bytes | None]) -> None:
        try:
            self._respond(call, await response)
        except Exception as error:  # noqa: BLE001 - reported
            self._on_bug(error)
            self._write(PacketKind.FAILED, call.client, call.number)
        finally:
            del self._serving[call.number]

    def _respond(self, call: Packet, response: bytes | None) -> None:
        kind = PacketKind.NO_RESPONSE if response is None else PacketKind.RESPONSE
        self._write(kind, call.client, call.number, response or b"")

    def _write(self, kind: PacketKind, client: int, number: int, payload: bytes = b"") -> bool:
        if self._transport is None:
            return False
        self._transport.writelines((_HEAD.pack(len(payload), kind, client, number), payload))
        return True


def client_number(client: object) -> int:
    """Return the number of a client in packets: another one may have it after its end."""
    return id(client) & _MAX_CLIENT
