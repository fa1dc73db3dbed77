"""Connections: what HTTP, WebSocket and IPC share, and the base of those whose requests run concurrently."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable
from typing import ClassVar, Final, TypeAlias, cast

from entresol.server.config import MIB
from entresol.server.handler import ClientConnection, Outbox
from entresol.server.limits import LONG_BYTES, HeldBytes, HeldOutbox
from entresol.server.responses import TOO_MUCH_UNSENT, HttpResponse, text
from entresol.server.server_state import ServerState

logger = logging.getLogger(__name__)

HANDLER_FAILED = "the handler of a request failed"
# uvloop reads up to 32 times 256 KiB in one turn, unless reading is paused in between.
MAX_HELD_WHILE_READING = 64 * 1024


Reply: TypeAlias = Callable[[bytes], object]
"""Sends the response to a request."""
MAX_CONCURRENT_BYTES: Final = 256 << 10
"""A longer request runs alone: what follows it on its connection starts after its response."""
TOO_MUCH_HELD: Final = "too much to send before a response"


class ClientProtocol(asyncio.Protocol):
    """One client's connection, without what is particular to HTTP or WebSocket.

    `_write_paused` means that the client does not read; `_lingering` that the last byte is sent and the client is to
    close; `_queued` that the backlog is served in later turns of the event loop.
    """

    write_buffer_bytes: ClassVar[int] = MIB
    """Unsent bytes at which reading pauses: more than nearly all responses, so that pipelined requests go on."""
    write_seconds: ClassVar[float] = 30.0
    """Time a client may leave a full write buffer unread."""
    linger_seconds: ClassVar[float] = 2.0
    """Time for a client to read its last response and close: some round trips over the worst connections."""

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._config = state.config
        self._counters = state.counters
        self._unsent_bytes = state.unsent
        self._loop = state.loop
        self._rate = state.new_rate()
        self._close_callbacks = CloseCallbacks()
        self._transport: asyncio.Transport
        self._reading = True
        self._queued = False
        self._write_paused = False
        self._lingering = False
        self.deadline = math.inf

    @property
    def peer(self) -> str:
        """Return the client's address."""
        return peer_address(self._transport)

    @property
    def closed(self) -> bool:
        """Return whether the connection has closed."""
        return self._close_callbacks.closed

    @property
    def closing(self) -> bool:
        """Return whether nothing more can be written."""
        return self._transport.is_closing()

    def send(self, data: bytes) -> bool:
        """Push a document, and return whether it was accepted."""
        raise NotImplementedError

    def outbox(self) -> Outbox:
        """Return where to push what must not arrive before the response to the request being handled."""
        return self

    def on_close(self, callback: Callable[[], object]) -> None:
        """Call `callback` once when the connection has closed."""
        self._close_callbacks.add(callback)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start serving the client."""
        # uvloop's transports are not subclasses of asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(self.write_buffer_bytes)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Remove the connection from the server."""
        self._state.remove(self)
        self._close_callbacks.run()

    def pause_writing(self) -> None:
        """Stop reading requests, because the client does not read responses."""
        self._write_paused = True
        self._pause_reading()
        self._set_timeout(self.write_seconds)

    def expire(self) -> None:
        """Act on a deadline that has passed."""
        raise NotImplementedError

    def stop(self) -> None:
        """Close as soon as the responses in progress are sent."""
        raise NotImplementedError

    def abort(self) -> None:
        """Close now, and cancel what is in progress."""
        raise NotImplementedError

    def serve_backlog(self, until: float) -> bool:
        """Serve what was received, for a slice of time; return whether there is more."""
        raise NotImplementedError

    @property
    def unsent(self) -> int:
        """Return the number of bytes that were written and not sent."""
        return self._transport.get_write_buffer_size()

    def drop(self) -> None:
        """Close now, because the client does not read and all connections have too much unsent."""
        self._report_rejection(TOO_MUCH_UNSENT)
        self._transport.abort()

    def disconnect(self, reason: str) -> None:
        """Close now, and report why."""
        self._report_rejection(text(503, reason))
        self._transport.abort()

    def write(self, data: bytes) -> None:
        """Write `data`, and count it."""
        counters = self._counters
        counters.bytes_sent += len(data)
        self._transport.write(data)
        if counters.bytes_sent >= self._unsent_bytes.check_at:
            self._unsent_bytes.schedule_check(counters.bytes_sent)

    def _call_handler(self, body: bytes) -> bytes | Awaitable[bytes | None] | None:
        try:
            # Only the subclasses declare their transport.
            return self._state.handler(body, self)  # type: ignore[arg-type]
        except Exception:
            logger.exception(HANDLER_FAILED)
            return self._state.internal_error

    def _set_timeout(self, seconds: float) -> None:
        self.deadline = self._loop.time() + seconds

    def _report_rejection(self, response: HttpResponse) -> None:
        if self._state.on_rejection is not None:
            self._state.on_rejection(response, cast("ClientConnection", self))

    def _serve_later(self, held: int) -> None:
        """Serve the backlog, of so many bytes, in later turns of the event loop."""
        if held > MAX_HELD_WHILE_READING:
            self._pause_reading()
        if not self._queued:
            self._queued = True
            self._state.backlogs.add(self.serve_backlog)

    def _pause_reading(self) -> None:
        if self._reading and not self._transport.is_closing():
            self._reading = False
            self._transport.pause_reading()

    def _resume_reading(self) -> None:
        if not self._reading and not self._transport.is_closing():
            self._reading = True
            self._transport.resume_reading()

    def _linger(self) -> None:
        self._lingering = True
        self._set_timeout(self.linger_seconds)

    def _end_writing(self) -> None:
        """Close our half, and let the client close the other.

        Closing with unread data would reset the connection, and the last response might be lost.
        """
        self._transport.write_eof()
        self._resume_reading()
        self._linger()


class CloseCallbacks:
    """Callbacks that run when one connection closes."""

    __slots__ = ("_callbacks", "closed")

    def __init__(self) -> None:
        self.closed = False
        self._callbacks: list[Callable[[], object]] = []

    def add(self, callback: Callable[[], object]) -> None:
        """Call `callback` on close, or now if the connection has closed."""
        if self.closed:
            callback()
        else:
            self._callbacks.append(callback)

    def run(self) -> None:
        """Call all callbacks, once."""
        self.closed = True
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()


def peer_address(transport: asyncio.BaseTransport) -> str:
    """Return the client's address and port."""
    name = transport.get_extra_info("peername")
    return f"{name[0]}:{name[1]}" if isinstance(name, tuple) else ""


class DuplexConnection(ClientProtocol):
    """One client's requests in progress; each response is sent when it is ready.

    Remembers: the tasks of requests, and what is to be sent after their responses. Assumes: the subclass reads no
    request while `_is_full`.
    """

    concurrency: ClassVar[int] = 128
    """Requests of a connection that may run at once: several for each thread that runs long ones."""
    queue_bytes: ClassVar[int] = 32 * MIB
    """Unsent bytes at which a client that does not read is disconnected: a few blocks of the largest size."""
    ping_seconds: ClassVar[float] = 30.0
    """Silence after which a WebSocket is pinged, below the minute after which proxies close; after twice that it is gone."""

    def __init__(self, state: ServerState) -> None:
        super().__init__(state)
        self._tasks: set[asyncio.Task[None]] = set()
        self._outboxes: dict[asyncio.Task[None] | None, list[HeldOutbox]] = {}
        """By the task of the request that each was made in; None is the request whose handler is being called."""
        self._held_bytes = 0
        self._long_bytes = 0
        self._incoming: HeldBytes | None = None
        """The memory of a long request that is being received."""
        self._stopping = False

    @property
    def unsent(self) -> int:
        """Return the number of bytes that were written or held, and not sent."""
        return self._transport.get_write_buffer_size() + self._held_bytes

    def outbox(self) -> HeldOutbox:
        """Return an outbox that holds its documents until the response to the request being handled is written."""
        outbox = HeldOutbox(self)
        task = asyncio.current_task()
        request = task if task in self._tasks else None
        self._outboxes.setdefault(request, []).append(outbox)
        return outbox

    def hold(self, size: int) -> bool:
        """Count bytes that an outbox is to hold, and return whether it may; disconnect a client with too many."""
        if self.closed or self._transport.is_closing():
            return False
        # One document of any size, as among those that are written.
        if self._held_bytes and self._held_bytes + size > self.queue_bytes:
            self.disconnect(TOO_MUCH_HELD)
            return False
        self._held_bytes += size
        self._unsent_bytes.hold(size, self._counters.bytes_sent)
        return True

    def _is_full(self) -> bool:
        is_full = len(self._tasks) >= self.concurrency
        # They keep their order, and one client does not take the memory of all of them.
        has_long = self._long_bytes > MAX_CONCURRENT_BYTES
        return self._write_paused or is_full or has_long

    def _hold_incoming(self, size: int) -> bool:
        """Count `size` bytes of a request that is being received; return whether there is room for them."""
        if size <= LONG_BYTES:
            self._incoming = None
            return True
        if self._incoming is None:
            self._incoming = HeldBytes(self._state.request_bytes)
        more = size - self._incoming.size
        return more <= 0 or self._incoming.grow(more)

    def _serve(self, message: bytes, reply: Reply) -> None:
        self._counters.requests_total += 1
        if self._rate is not None and not self._rate.allows(self._loop.time()):
            self._report_rejection(self._state.rejections.rate_limited)
            reply(self._state.rejections.rate_limited.body)
            return
        if not self._hold_incoming(len(message)):
            self._report_rejection(self._state.rejections.overloaded)
            reply(self._state.rejections.overloaded.body)
            return
        held, self._incoming = self._incoming, None
        result = self._call_handler(message)
        if isinstance(result, bytes):
            reply(result)
        elif result is not None:
            self._start_task(result, reply, held)
        if self._outboxes:
            self._release(None)

    def _start_task(
        self, result: Awaitable[bytes | None], reply: Reply, held: HeldBytes | None
    ) -> None:
        if held is None:
            task = asyncio.ensure_future(self._await_result(result, reply))
        else:
            self._long_bytes += held.size
            task = asyncio.ensure_future(self._await_long(result, reply, held))
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)
        if None in self._outboxes:
            self._outboxes[task] = self._outboxes.pop(None)

    async def _await_long(
        self, result: Awaitable[bytes | None], reply: Reply, held: HeldBytes
    ) -> None:
        try:
            await self._await_result(result, reply)
        finally:
            self._long_bytes -= held.size

    async def _await_result(self, result: Awaitable[bytes | None], reply: Reply) -> None:
        try:
            body = await result
        except Exception:
            logger.exception(HANDLER_FAILED)
            body = self._state.internal_error
        if body is not None:
            reply(body)
        if self._outboxes:
            self._release(asyncio.current_task())

    def _release(self, request: asyncio.Task[None] | None) -> None:
        """Send what was held for the response to a request."""
        for outbox in self._outboxes.pop(request, ()):
            self._held_bytes -= outbox.size
            outbox.release()

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self._close_callbacks.closed:
            return
        if self._stopping:
            self.stop()
        else:
            self._continue()

    def _cancel_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()

    def _continue(self) -> None:
        """Continue with the backlog and with reading, as soon as a request can be served."""
        raise NotImplementedError
