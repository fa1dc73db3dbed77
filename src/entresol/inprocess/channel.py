"""Requests to a layer in this process: bytes in, bytes out, from any thread and any event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, Self

from entresol.rpc.jsonrpc.errors import JSON_RPC

if TYPE_CHECKING:
    from entresol.inprocess.loop_thread import LoopThread
    from entresol.server.handler import ClientConnection, Handler

MAX_UNREAD_BYTES: Final = 32 << 20
"""Notifications that a subscriber has not read; beyond them it is disconnected, as a WebSocket is."""


class InProcessConnection:
    """A `ClientConnection` without a socket: as HTTP, or with a receiver of notifications as a WebSocket.

    Remembers: how much of what it has passed on is unread. Assumes: the node's event loop, except for `mark_read`.
    """

    path: Final = "/"
    host: Final = ""
    is_foreign: Final = False
    peer: Final = "in-process"

    def __init__(self, receive: Callable[[bytes | None], None] | None = None) -> None:
        """Pass notifications to `receive`, on the node's thread; None ends them."""
        self.transport: Literal["http", "ws"] = "http" if receive is None else "ws"
        self.closed = False
        self._receive = receive
        self._sent = 0
        self._read = 0
        self._on_close: list[Callable[[], object]] = []

    def send(self, data: bytes) -> bool:
        """Pass a notification on, and return whether it was accepted."""
        if self.closed or self._receive is None:
            return False
        self._sent += len(data)
        if self._sent - self._read > MAX_UNREAD_BYTES:
            self.close()
            return False
        self._receive(data)
        return True

    def outbox(self) -> Self:
        """Return itself: a batch of web3.py, the only client, has no subscriptions."""
        return self

    def mark_read(self, size: int) -> None:
        """Note that the subscriber has read so many bytes; one thread calls it."""
        self._read += size

    def disconnect(self, reason: str) -> None:  # noqa: ARG002 - the interface has it
        """Close."""
        self.close()

    def on_close(self, callback: Callable[[], object]) -> None:
        """Call `callback` when the connection closes."""
        self._on_close.append(callback)

    def close(self) -> None:
        """Drop what belongs to the connection, and send None to the receiver."""
        if self.closed:
            return
        self.closed = True
        for callback in self._on_close:
            callback()
        if self._receive is not None:
            self._receive(None)


class LayerChannel:
    """Passes requests to the handler of a layer, on the event loop of the node."""

    def __init__(self, loop: LoopThread, handler: Handler, body_limit: int) -> None:
        self._loop = loop
        self._handler = handler
        self._body_limit = body_limit
        self._connection = InProcessConnection()

    def respond(self, body: bytes) -> bytes:
        """Return the response to a request or a batch; empty if it has none."""
        if len(body) > self._body_limit:
            return self._too_large()
        return self._loop.submit(partial(self._handler, body, self._connection)).result() or b""

    async def respond_async(self, body: bytes, connection: ClientConnection | None = None) -> bytes:
        """Return the response on the caller's event loop; `connection` gets its notifications."""
        if len(body) > self._body_limit:
            return self._too_large()
        future = self._loop.submit(partial(self._handler, body, connection or self._connection))
        return await asyncio.wrap_future(future) or b""

    def disconnect(self, connection: InProcessConnection) -> None:
        """Close a connection, and end its subscriptions."""
        self._loop.call_soon(connection.close)

    def _too_large(self) -> bytes:
        return JSON_RPC.too_large % self._body_limit
