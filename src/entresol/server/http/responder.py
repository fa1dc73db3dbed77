"""Respond to HTTP requests, one after another: from the handler, from a page, or with a rejection."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable
from typing import Final

from entresol.server.http.head_cache import NO_HEAD, CachedHead
from entresol.server.http.request import HttpRequest
from entresol.server.http.response_writer import MAX_COPIED, ResponseWriter
from entresol.server.protocol import HANDLER_FAILED, ClientProtocol
from entresol.server.responses import HttpResponse
from entresol.server.state import ServerState

logger = logging.getLogger(__name__)


class HttpResponder(ClientProtocol):
    """The responses of one HTTP client. The subclass reads its requests.

    Remembers: the request in progress. Persists: nothing. Assumes: `_serve` is not called while `_task` is set.
    Fails: by a response that says why.
    """

    transport: Final = "http"

    def __init__(self, state: ServerState) -> None:
        super().__init__(state)
        self._writer = ResponseWriter(self, state.config)
        # The head of the last request, as long as the next one can be served at once.
        self._last_head = NO_HEAD
        self.path = "/"
        self.host = ""
        self._task: asyncio.Task[None] | None = None
        # Whether a client that awaits the handler understands an interim response.
        self._takes_interim = False
        # Whether the fast path has served requests, without moving the deadline.
        self._is_active = False

    def send(self, data: bytes) -> bool:
        """Raise: HTTP cannot push."""
        raise NotImplementedError(f"cannot push {len(data)} bytes over HTTP")

    def _serve(self, request: HttpRequest) -> None:
        self.path, self.host = request.path, request.host
        if request.page is not None or request.rejection is not None:
            response = request.direct_response()
            if isinstance(response, HttpResponse):
                self._respond_directly(request, response)
            else:
                self._start(self._await_page(request, response))
            return
        self._counters.requests_total += 1
        if self._rate is not None and not self._rate.allows(self._loop.time()):
            self._respond_directly(request, self._state.rejections.rate_limited)
            return
        self._respond(request, self._call_handler(request.body) or b"")

    def _serve_cached(self, head: CachedHead, body: bytes) -> None:
        """Serve a request with a cached head on a connection that is ready: the fast path of `_serve`."""
        self._counters.requests_total += 1
        self._is_active = True
        result = self._call_handler(body) or b""
        max_bytes = self._config.gzip_above_bytes if head.gzip else MAX_COPIED
        if type(result) is bytes and len(result) <= max_bytes:
            self.write(b"%b%d\r\n\r\n%b" % (head.start, len(result), result))
        else:
            self._respond(head.request(body), result)

    def _respond(self, request: HttpRequest, result: bytes | Awaitable[bytes | None]) -> None:
        if isinstance(result, bytes):
            self._finish(request, self._writer.write_document(request, result))
        else:
            self._start(self._await_result(request, result))

    def _respond_directly(self, request: HttpRequest, response: HttpResponse) -> None:
        """Respond without the handler."""
        if response.is_rejection and request.page is None:
            self._report_rejection(response)
        self._finish(request, self._writer.write(request, response))

    def _finish(self, request: HttpRequest, writing: Awaitable[None] | None) -> None:
        if writing is not None:
            self._start(self._await_written(request, writing))
        elif request.closes:
            self._hang_up()

    def _start(self, work: Awaitable[None]) -> None:
        self._last_head = NO_HEAD
        self._task = asyncio.ensure_future(self._run(work))
        self.deadline = math.inf

    async def _run(self, work: Awaitable[None]) -> None:
        try:
            await work
        finally:
            self._task = None
            if not self._transport.is_closing():
                self._continue()

    async def _await_result(self, request: HttpRequest, result: Awaitable[bytes | None]) -> None:
        self._takes_interim = not request.is_old
        try:
            body = await result or b""
        except Exception:
            logger.exception(HANDLER_FAILED)
            body = self._state.internal_error
        finally:
            self._takes_interim = False
        if self._transport.is_closing():
            return
        writing = self._writer.write_document(request, body)
        if writing is not None:
            await self._await_written(request, writing)
        elif request.closes:
            self._hang_up()

    async def _await_page(self, request: HttpRequest, page: Awaitable[HttpResponse]) -> None:
        response = await page
        if self._transport.is_closing():
            return
        writing = self._writer.write(request, response)
        if writing is not None:
            await self._await_written(request, writing)
        elif request.closes:
            self._hang_up()

    async def _await_written(self, request: HttpRequest, writing: Awaitable[None]) -> None:
        await writing
        if request.closes and not self._transport.is_closing():
            self._hang_up()

    def _continue(self) -> None:
        """Continue with the next request."""
        raise NotImplementedError

    def _hang_up(self) -> None:
        """End our half after the last response, and let the client close."""
        raise NotImplementedError
