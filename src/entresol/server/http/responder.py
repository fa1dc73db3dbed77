"""Respond to HTTP requests, one after another: from the handler, from a page, or with a rejection."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final, TypeAlias

from entresol.server.handler import Page
from entresol.server.http.request import (
    NO_HEAD,
    CachedHead,
    HttpRequest,
    RequestRejectedError,
    WebSocketUpgrade,
    path_of,
)
from entresol.server.protocol import HANDLER_FAILED, ClientProtocol
from entresol.server.responses import (
    JSON,
    JSON_OK,
    NO_HOST,
    WRONG_TYPE,
    HttpResponse,
    compressed,
    encode,
    preflight,
    wrong_host,
)
from entresol.server.server_state import ServerState

if TYPE_CHECKING:
    import httptools


# Compressing less than this saves no packet.
MIN_COMPRESSION = 1024
# Compressing more than this on the event loop would delay other clients, so a thread does it.
MAX_INLINE_COMPRESSION = 32 * 1024
# Copying more than this into one buffer costs more than a second write.
MAX_COPIED = 64 * 1024


logger = logging.getLogger(__name__)

Route: TypeAlias = HttpResponse | WebSocketUpgrade | Page | None
"""The way to respond to a request: a response that is known already, a WebSocket, a page; None is the handler."""


class ResponseWriter:
    """Frames, compresses and writes the responses of one connection.

    A method returns an awaitable if the response is written only once a thread has compressed it.
    """

    def __init__(self, connection: ClientProtocol) -> None:
        self._connection = connection

    def write_document(self, request: HttpRequest, body: bytes) -> Awaitable[None] | None:
        """Write the document `body` that the handler returned."""
        if request.gzip and len(body) > MIN_COMPRESSION:
            return self.write(request, HttpResponse(200, JSON, body))
        headers, size = request.response_headers, len(body)
        if size > MAX_COPIED:
            self._connection.write(b"%b%bcontent-length: %d\r\n\r\n" % (JSON_OK, headers, size))
            self._connection.write(body)
        else:
            self._connection.write(
                b"%b%bcontent-length: %d\r\n\r\n%b" % (JSON_OK, headers, size, body)
            )
        return None

    def write(self, request: HttpRequest, response: HttpResponse) -> Awaitable[None] | None:
        """Write `response`."""
        size = len(response.body)
        if request.gzip and size > MIN_COMPRESSION and not response.is_compressed:
            if size > MAX_INLINE_COMPRESSION:
                return self._compress_and_write(request, response)
            response = compressed(response)
        self._write_framed(request, response)
        return None

    async def _compress_and_write(self, request: HttpRequest, response: HttpResponse) -> None:
        response = await asyncio.to_thread(compressed, response)
        if not self._connection.closing:
            self._write_framed(request, response)

    def _write_framed(self, request: HttpRequest, response: HttpResponse) -> None:
        self._connection.write(
            encode(response, request.response_headers, without_body=request.without_body)
        )


class HttpResponder(ClientProtocol):
    """The responses of one HTTP client. The subclass reads its requests.

    Remembers: the request in progress. Assumes: `_serve` is not called while `_task` is set. Fails: by a response that
    says why.
    """

    transport: Final = "http"

    def __init__(self, state: ServerState) -> None:
        super().__init__(state)
        self._writer = ResponseWriter(self)
        # The head of the last request, as long as the next one can be served at once.
        self._last_head = NO_HEAD
        self.path = "/"
        self.host = ""
        self.is_foreign = False
        self._task: asyncio.Task[None] | None = None
        # Whether a client that awaits the handler understands an interim response.
        self._takes_interim = False
        # Whether the fast path has served requests, without moving the deadline.
        self._is_active = False

    def send(self, data: bytes) -> bool:
        """Raise: HTTP cannot push."""
        raise NotImplementedError(f"cannot push {len(data)} bytes over HTTP")

    def _serve(self, request: HttpRequest) -> None:
        self.path, self.host, self.is_foreign = request.path, request.host, request.is_foreign
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
        max_bytes = MIN_COMPRESSION if head.gzip else MAX_COPIED
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
        raise NotImplementedError

    def _hang_up(self) -> None:
        """End our half after the last response, and let the client close."""
        raise NotImplementedError


def route_request(
    state: ServerState,
    parser: httptools.HttpRequestParser,
    target: bytes,
    headers: dict[bytes, bytes],
) -> Route:
    """Return the route of a request whose headers are complete; raise if the connection cannot continue."""
    host = headers.get(b"host")
    if host is None and parser.get_http_version() == "1.1":
        raise RequestRejectedError(NO_HOST)
    if host is not None and not state.hosts.allows(host):
        return wrong_host(host)
    method = parser.get_method()
    if method == b"GET":
        if headers.get(b"upgrade", b"").lower() == b"websocket" and parser.should_upgrade():
            return WebSocketUpgrade(target, headers)
        return _route_get(state, target, headers)
    if method == b"OPTIONS" and b"access-control-request-method" in headers:
        # The headers that allow the origin are part of every response.
        return preflight(headers.get(b"access-control-request-headers", b""))
    if method != b"POST":
        return state.rejections.wrong_method
    if headers.get(b"content-type", b"").lower() not in state.content_types:
        return WRONG_TYPE
    return None


def _route_get(state: ServerState, target: bytes, headers: dict[bytes, bytes]) -> Route:
    path = path_of(target)
    page = state.page(path, target)
    if page is not None:
        return page
    file = state.files().get(path)
    response = None if file is None else file.response(headers)
    return response or state.rejections.wrong_method
