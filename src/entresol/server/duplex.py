"""Base of connections whose requests run concurrently, and which can push: WebSocket and IPC."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from entresol.server.protocol import HANDLER_FAILED, ClientProtocol
from entresol.server.state import ServerState

logger = logging.getLogger(__name__)

Reply: TypeAlias = Callable[[bytes], object]
"""Sends the response to a request."""


class DuplexConnection(ClientProtocol):
    """One client's requests in progress; each response is sent when it is ready.

    Remembers: the tasks of requests. Persists: nothing. Assumes: the subclass reads no request while `_is_full`.
    """

    def __init__(self, state: ServerState) -> None:
        super().__init__(state)
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = False

    def _is_full(self) -> bool:
        return self._write_paused or len(self._tasks) >= self._config.websocket_concurrency

    def _serve(self, message: bytes, reply: Reply) -> None:
        self._counters.requests_total += 1
        if self._rate is not None and not self._rate.allows(self._loop.time()):
            self._report_rejection(self._state.rejections.rate_limited)
            reply(self._state.rejections.rate_limited.body)
            return
        result = self._call_handler(message)
        if isinstance(result, bytes):
            reply(result)
        elif result is not None:
            task = asyncio.ensure_future(self._await_result(result, reply))
            self._tasks.add(task)
            task.add_done_callback(self._on_task_done)

    async def _await_result(self, result: Awaitable[bytes | None], reply: Reply) -> None:
        try:
            body = await result
        except Exception:
            logger.exception(HANDLER_FAILED)
            body = self._state.internal_error
        if body is not None:
            reply(body)

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
