"""One HTTP connection: requests in, answers out in the same order, and what time allows."""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from collections.abc import Awaitable
from typing import Final

from entresol.server import http_parser, responses
from entresol.server.head_cache import NOTHING, CachedHead
from entresol.server.http_parser import HttpParser, RequestRejectedError
from entresol.server.protocol import ClientProtocol
from entresol.server.request import HttpRequest
from entresol.server.responses import JSON_OK, HttpResponse
from entresol.server.state import ServerState
from entresol.server.websocket import WebSocketConnection

logger = logging.getLogger(__name__)

# Compressing more than this at once would be felt by other clients, so a thread does it.
COMPRESSED_AT_ONCE = 32 * 1024
# Copying more than this into one piece costs more than handing over two.
COPIED_AT_ONCE = 64 * 1024


class HttpConnection(ClientProtocol):
    """Serves one client.

    Remembers: requests that arrived behind one still under way. Persists: nothing.
    Assumes: the handler limits its own time. Fails: by an answer that says why, then by closing.
    """

    transport: Final = "http"

    def __init__(self, service: ServerState) -> None:
        super().__init__(service)
        self._reader = HttpParser(service, self._deliver, self._interim)
        self._waiting: deque[HttpRequest] = deque()
        self._heads = service.heads
        # The head of the last request, as long as nothing keeps the next one from being answered at once.
        self._known = NOTHING
        self.path = "/"
        self.host = ""
        self._task: asyncio.Task[None] | None = None
        self._timed_phase = -1
        self._half_closed = False

    def send(self, data: bytes) -> bool:
        """Reject: HTTP has no way to push."""
        raise NotImplementedError(f"cannot push {len(data)} bytes over HTTP")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, or say that there is no room."""
        super().connection_made(transport)
        self._transport.set_write_buffer_limits(self._config.write_buffer_bytes)
        full = self._counters.connections_open >= self._config.connection_limit
        self._service.enter(self)
        self._allow(self._config.header_seconds)
        if full:
            self._counters.connections_refused += 1
            self._tell_rejection(responses.NO_CONNECTION_LEFT)
            self._write(responses.encode(responses.NO_CONNECTION_LEFT))
            self._hang_up()

    def data_received(self, data: bytes) -> None:
        """Read on."""
        self._counters.bytes_received += len(data)
        known = self._known
        body = known.body(data)
        if body is not None:
            self._serve_again(known, body)
            return
        self._known = NOTHING
        if self._lingering:
            return
        known = self._heads.find(data) if self._reader.is_at_start else NOTHING
        body = known.body(data)
        if body is not None:
            self._deliver(known.exchange(body))
            if self._is_at_rest():
                self._known = known
            self._set_deadline()
        else:
            self._read(data)

    def _serve_again(self, known: CachedHead, body: bytes) -> None:
        """Answer a request with the same head as the last one: the fast path of `_serve`."""
        self._counters.requests_total += 1
        answer = self._ask(body)
        longest = self._config.gzip_above_bytes if known.gzip else COPIED_AT_ONCE
        if type(answer) is bytes and len(answer) <= longest:
            self._write(b"%b%d\r\n\r\n%b" % (known.start, len(answer), answer))
        else:
            self._conclude(known.exchange(body), answer)
        if self._known is known:
            self.deadline = self._loop.time() + self._config.idle_seconds

    def _read(self, data: bytes) -> None:
        try:
            rest = self._reader.feed(data)
        except RequestRejectedError as rejected:
            self._reject(rejected.reply)
            return
        if rest is not None:
            self._open_websocket(rest)
            return
        phase = self._reader.phase
        if phase != self._timed_phase or phase == http_parser.IDLE:
            self._set_deadline()

    def eof_received(self) -> bool:
        """Stay open for answers under way: the client may only have finished asking."""
        self._half_closed = True
        self._known = NOTHING
        return self._busy()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client. A handler under way finishes, since it may be changing something."""
        self._waiting.clear()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Take no more requests, because the client does not read."""
        self._known = NOTHING
        super().pause_writing()

    def resume_writing(self) -> None:
        """Go on."""
        self._clogged = False
        self._proceed()

    def expire(self) -> None:
        """Close a connection that took too long, with an answer if one was begun to be asked for."""
        if self._lingering or self._clogged:
            self._transport.abort()
        elif self._reader.phase == http_parser.IDLE:
            self._close()
        else:
            self._reject(responses.TIMED_OUT)

    def stop(self) -> None:
        """Close as soon as the answers under way are sent."""
        self._known = NOTHING
        if not self._busy() and self._reader.phase == http_parser.IDLE:
            self._close()

    def abort(self) -> None:
        """Close now."""
        self._known = NOTHING
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()
        self._transport.abort()

    def _busy(self) -> bool:
        return self._task is not None or bool(self._waiting)

    def _is_at_rest(self) -> bool:
        """Whether nothing keeps the next request from being answered at once, and uncounted."""
        ends = self._lingering or self._half_closed or self._service.stopping
        return not (self._busy() or self._clogged or ends) and self._rate is None

    def _set_deadline(self) -> None:
        phase = self._timed_phase = self._reader.phase
        if self._lingering or self._clogged:
            return
        if phase == http_parser.HEADERS:
            self._allow(self._config.header_seconds)
        elif phase == http_parser.BODY:
            self._allow(self._config.body_seconds)
        elif self._task is not None:
            self.deadline = math.inf
        elif self._service.stopping:
            self._close()
        else:
            self._allow(self._config.idle_seconds)

    def _deliver(self, exchange: HttpRequest) -> None:
        self._timed_phase = -1
        if self._task is None and not self._waiting and not self._clogged:
            self._serve(exchange)
        else:
            self._waiting.append(exchange)
            self._pause_reading()

    def _interim(self, data: bytes) -> None:
        # Behind an unanswered request it would seem to belong to that one; clients go on without it.
        if not self._busy():
            self._write(data)

    def _serve(self, exchange: HttpRequest) -> None:
        self.path, self.host = exchange.path, exchange.host
        if exchange.page is not None or exchange.rejection is not None:
            self._reply_itself(exchange, exchange.own_reply())
            return
        self._counters.requests_total += 1
        if self._rate is not None and not self._rate.allows(self._loop.time()):
            self._reply_itself(exchange, responses.RATE_REFUSAL)
            return
        self._conclude(exchange, self._ask(exchange.body))

    def _ask(self, body: bytes) -> bytes | Awaitable[bytes | None]:
        try:
            return self._handler(body, self) or b""
        except Exception:
            logger.exception("the handler of a request failed")
            return responses.INTERNAL_ERROR

    def _conclude(self, exchange: HttpRequest, answer: bytes | Awaitable[bytes | None]) -> None:
        if isinstance(answer, bytes):
            self._answer(exchange, answer)
        else:
            self._start(self._await_and_answer(exchange, answer))

    def _answer(self, exchange: HttpRequest, body: bytes) -> None:
        if exchange.gzip and self._is_worth_compressing(body):
            self._reply(exchange, HttpResponse(200, responses.JSON, body))
            return
        size = len(body)
        if size > COPIED_AT_ONCE:
            self._write(b"%b%bcontent-length: %d\r\n\r\n" % (JSON_OK, exchange.extra, size))
            self._write(body)
        else:
            self._write(b"%b%bcontent-length: %d\r\n\r\n%b" % (JSON_OK, exchange.extra, size, body))
        if exchange.last:
            self._hang_up()

    def _reply_itself(self, exchange: HttpRequest, reply: HttpResponse) -> None:
        """Answer without the handler."""
        if reply.is_rejection and exchange.page is None:
            self._tell_rejection(reply)
        self._reply(exchange, reply)

    def _reply(self, exchange: HttpRequest, reply: HttpResponse) -> None:
        if exchange.gzip and self._is_worth_compressing(reply.body):
            if len(reply.body) > COMPRESSED_AT_ONCE:
                self._start(self._compress_and_reply(exchange, reply))
                return
            reply = responses.compressed(reply, self._config.gzip_level)
        self._write_reply(exchange, reply)

    def _write_reply(self, exchange: HttpRequest, reply: HttpResponse) -> None:
        self._write(responses.encode(reply, exchange.extra, without_body=exchange.without_body))
        if exchange.last:
            self._hang_up()

    def _is_worth_compressing(self, body: bytes) -> bool:
        return len(body) > self._config.gzip_above_bytes and self._config.gzip_level > 0

    def _start(self, work: Awaitable[None]) -> None:
        self._known = NOTHING
        self._task = asyncio.ensure_future(self._run(work))
        self.deadline = math.inf

    async def _run(self, work: Awaitable[None]) -> None:
        try:
            await work
        finally:
            self._task = None
            if not self._transport.is_closing():
                self._proceed()

    async def _await_and_answer(
        self, exchange: HttpRequest, answer: Awaitable[bytes | None]
    ) -> None:
        try:
            body = await answer
        except Exception:
            logger.exception("the handler of a request failed")
            body = responses.INTERNAL_ERROR
        if self._transport.is_closing():
            return
        body = body or b""
        if exchange.gzip and self._is_worth_compressing(body) and len(body) > COMPRESSED_AT_ONCE:
            await self._compress_and_reply(exchange, HttpResponse(200, responses.JSON, body))
        else:
            self._answer(exchange, body)

    async def _compress_and_reply(self, exchange: HttpRequest, reply: HttpResponse) -> None:
        level = self._config.gzip_level
        reply = await self._loop.run_in_executor(None, responses.compressed, reply, level)
        if not self._transport.is_closing():
            self._write_reply(exchange, reply)

    def _proceed(self) -> None:
        """Go on with what waits, after an answer or after the client has read."""
        while self._waiting and self._task is None and not self._clogged:
            self._serve(self._waiting.popleft())
        if self._clogged or self._waiting or self._task is not None:
            return
        if self._half_closed or (self._service.stopping and not self._lingering):
            self._close()
            return
        self._set_deadline()
        self._resume_reading()

    def _reject(self, reply: HttpResponse) -> None:
        """Answer in turn that this is the end, and wait for the client to read it."""
        extra = self._service.origins.headers(None) + b"connection: close\r\n"
        exchange = HttpRequest("/", "", b"", extra, last=True, rejection=reply)
        # Nothing that follows can be understood.
        self._known = NOTHING
        self._lingering = True
        if self._clogged:
            self._waiting.append(exchange)
        elif self._busy():
            self._waiting.append(exchange)
            self.deadline = math.inf
        else:
            self._serve(exchange)

    def _hang_up(self) -> None:
        """Say that this was the last answer, and let the client close."""
        if self._half_closed or self._transport.is_closing():
            self._close()
            return
        self._waiting.clear()
        self._end_writing()

    def _close(self) -> None:
        """Close after what is written; a client that does not take it is cut off in time."""
        self._waiting.clear()
        self._transport.close()
        self._linger()

    def _linger(self) -> None:
        self._known = NOTHING
        super()._linger()

    def _open_websocket(self, rest: bytes) -> None:
        opening = self._reader.opening
        assert opening is not None
        if self._busy() or self._clogged:
            self._reject(responses.NO_UPGRADE_HERE)
            return
        path = http_parser.path_of(opening.url)
        socket = WebSocketConnection(self._service, path, opening.url, opening.headers)
        reply = socket.handshake()
        self._write(reply)
        if socket.rejection is not None:
            self._tell_rejection(socket.rejection)
            self._hang_up()
            return
        self._service.replace(self, socket)
        socket.on_close(self._closing.run)
        self._transport.set_protocol(socket)
        socket.connection_made(self._transport)
        if rest:
            socket.data_received(rest)
