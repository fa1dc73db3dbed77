"""Base of connections whose requests run concurrently, and which can push: WebSocket and IPC."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import ClassVar, Final, TypeAlias

from entresol.server.config import MIB
from entresol.server.memory import LONG_BYTES, HeldBytes, HeldOutbox
from entresol.server.protocol import HANDLER_FAILED, ClientProtocol
from entresol.server.server_state import ServerState

logger = logging.getLogger(__name__)

Reply: TypeAlias = Callable[[bytes], object]
"""Sends the response to a request."""
MAX_CONCURRENT_BYTES: Final = 256 << 10
"""A longer request runs alone: what follows it on its connection starts after its response."""
TOO_MUCH_HELD: Final = "too much to send before a response"


class DuplexConnection(ClientProtocol):
    """One client's requests in progress; each response is sent when it is ready.

    Remembers: the tasks of requests, and what is to be sent after their responses. Persists: nothing. Assumes: the
    subclass reads no request while `_is_full`.
    """

    concurrency: ClassVar[int] = 128
    """Requests of a connection that may run at once: several for each thread that runs long ones."""
    queue_bytes: ClassVar[int] = 32 * MIB
    """Unsent bytes at which a client that does not read is disconnected: a few blocks of the largest size."""

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
