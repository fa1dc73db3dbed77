"""A socket between a replica and its producer: calls with responses, and messages without, both ways."""

from __future__ import annotations

import asyncio
import inspect
import struct
from collections.abc import Awaitable, Callable
from enum import IntEnum
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, cast

from entresol.errors import ProducerUnavailable

if TYPE_CHECKING:
    import socket

_HEAD: Final = struct.Struct("!IBQ")
"""Length of the payload, kind, number of the call."""

CALL_SECONDS: Final = 300.0
"""How long a call may take: longer than any method of a node that still responds."""
MAX_CALLS: Final = 1_024
"""How many calls one side may have in progress; more wait for a response to another."""

Answer: TypeAlias = bytes | Awaitable[bytes | None] | None


class FrameKind(IntEnum):
    """What a frame is."""

    CALL = 0
    RESPONSE = 1
    NO_RESPONSE = 2
    """The response to a call that has none, as a notification."""
    FAILED = 3
    """The call failed by a bug, which the other side has logged."""
    CANCEL = 4
    MESSAGE = 5


class ChannelPeer(Protocol):
    """What is done with calls and messages of the other side."""

    def on_call(self, payload: bytes) -> Answer:
        """Return the response to a call, or an awaitable of it."""

    def on_message(self, payload: bytes) -> None:
        """Take a message."""

    def on_close(self) -> None:
        """Act on the end of the connection."""


class Channel(asyncio.Protocol):
    """One end of a connection.

    Remembers: calls in progress. Persists: nothing. Assumes: one event loop, and that the other end is of the same
    node, so that what it sends is well-formed. Fails: `call` raises `ProducerUnavailable`.
    """

    def __init__(self, peer: ChannelPeer, *, on_bug: Callable[[BaseException], object]) -> None:
        self._peer = peer
        self._on_bug = on_bug
        self._received = bytearray()
        self._calls: dict[int, asyncio.Future[bytes | None]] = {}
        self._serving: dict[int, asyncio.Future[None]] = {}
        self._free = asyncio.Semaphore(MAX_CALLS)
        self._number = 0
        self._transport: asyncio.WriteTransport | None = None

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
        """Send a message."""
        self._write(FrameKind.MESSAGE, 0, payload)

    async def call(self, payload: bytes, seconds: float = CALL_SECONDS) -> bytes | None:
        """Return the response to a call; raise `ProducerUnavailable` if there is none in time."""
        try:
            # Not `wait_for`, which on Python 3.11 can lose a cancellation.
            async with asyncio.timeout(seconds), self._free:
                return await self._call(payload)
        except TimeoutError:
            raise ProducerUnavailable(f"did not respond in {seconds:g} seconds") from None

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.close()

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start."""
        self._transport = cast("asyncio.WriteTransport", transport)

    def data_received(self, data: bytes) -> None:
        """Take the frames that are complete."""
        received = self._received
        received += data
        start = 0
        while len(received) - start >= _HEAD.size:
            length, kind, number = _HEAD.unpack_from(received, start)
            end = start + _HEAD.size + length
            if len(received) < end:
                break
            payload = bytes(memoryview(received)[start + _HEAD.size : end])
            start = end
            self._on_frame(FrameKind(kind), number, payload)
        del received[:start]

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - the interface has it
        """End all calls."""
        self._transport = None
        for call in self._calls.values():
            if not call.done():
                call.set_exception(ProducerUnavailable("has ended"))
        for serving in self._serving.values():
            serving.cancel()
        self._peer.on_close()

    # Frames

    def _on_frame(self, kind: FrameKind, number: int, payload: bytes) -> None:
        match kind:
            case FrameKind.CALL:
                self._serve(number, payload)
            case FrameKind.CANCEL:
                serving = self._serving.get(number)
                if serving is not None:
                    serving.cancel()
            case FrameKind.MESSAGE:
                self._peer.on_message(payload)
            case _:
                self._finish(kind, number, payload)

    async def _call(self, payload: bytes) -> bytes | None:
        self._number += 1
        number = self._number
        future = asyncio.get_running_loop().create_future()
        self._calls[number] = future
        try:
            if not self._write(FrameKind.CALL, number, payload):
                raise ProducerUnavailable("has ended")
            response: bytes | None = await future
        except asyncio.CancelledError:
            self._write(FrameKind.CANCEL, number)
            raise
        finally:
            del self._calls[number]
        return response

    def _finish(self, kind: FrameKind, number: int, payload: bytes) -> None:
        call = self._calls.get(number)
        if call is None or call.done():
            return
        if kind is FrameKind.FAILED:
            call.set_exception(ProducerUnavailable("failed, and has logged why"))
        else:
            call.set_result(payload if kind is FrameKind.RESPONSE else None)

    def _serve(self, number: int, payload: bytes) -> None:
        try:
            answer = self._peer.on_call(payload)
        except Exception as error:  # noqa: BLE001 - reported
            self._on_bug(error)
            self._write(FrameKind.FAILED, number)
            return
        if inspect.isawaitable(answer):
            self._serving[number] = asyncio.ensure_future(self._answer_later(number, answer))
        else:
            self._answer(number, answer)

    async def _answer_later(self, number: int, answer: Awaitable[bytes | None]) -> None:
        try:
            self._answer(number, await answer)
        except Exception as error:  # noqa: BLE001 - reported
            self._on_bug(error)
            self._write(FrameKind.FAILED, number)
        finally:
            del self._serving[number]

    def _answer(self, number: int, answer: bytes | None) -> None:
        kind = FrameKind.NO_RESPONSE if answer is None else FrameKind.RESPONSE
        self._write(kind, number, answer or b"")

    def _write(self, kind: FrameKind, number: int, payload: bytes = b"") -> bool:
        """Write a frame, and say whether the connection is open."""
        if self._transport is None:
            return False
        self._transport.writelines((_HEAD.pack(len(payload), kind, number), payload))
        return True
