"""One WebSocket connection: handshake, messages in, responses and pushed documents out, with bounded buffers."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Sequence
from http import HTTPStatus
from typing import Final

from msgspec import Struct
from websockets.datastructures import Headers
from websockets.extensions.base import Extension
from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory
from websockets.frames import OK_CLOSE_CODES, CloseCode, Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.typing import Origin

from entresol.server.access import OriginCheck
from entresol.server.config import ServerConfig
from entresol.server.protocol import HANDLER_FAILED, ClientProtocol
from entresol.server.request import WebSocketUpgrade, path_of
from entresol.server.responses import TEXT, HttpResponse
from entresol.server.state import ServerState

logger = logging.getLogger(__name__)


class Handshake(Struct, frozen=True):
    """The result of a handshake: the response, and the extensions that both sides use."""

    response: bytes
    rejection: HttpResponse | None
    """The response as a rejection, unless the upgrade is accepted."""
    extensions: Sequence[Extension]


def handshake(upgrade: WebSocketUpgrade, config: ServerConfig, origins: OriginCheck) -> Handshake:
    """Accept or reject `upgrade`."""
    allowed = None
    if not origins.any:
        allowed = [None, *(Origin(origin.decode()) for origin in origins.origins)]
    extensions = [ServerPerMessageDeflateFactory()] if config.websocket_deflate else None
    negotiation = ServerProtocol(origins=allowed, extensions=extensions)
    headers = Headers()
    for name, value in upgrade.headers.items():
        headers[name.decode("latin-1")] = value.decode("latin-1")
    response = negotiation.accept(Request(upgrade.target.decode("latin-1"), headers))
    rejection = None
    if response.status_code != HTTPStatus.SWITCHING_PROTOCOLS:
        body = bytes(response.body or b"")
        reason = body.decode(errors="replace").strip()
        rejection = HttpResponse(response.status_code, TEXT, body, reason=reason)
    return Handshake(response.serialize(), rejection, negotiation.extensions)


class WebSocketConnection(ClientProtocol):
    """Serves one WebSocket client. Its requests run concurrently, and each response is sent when it is ready.

    Remembers: requests beyond the number that may run at once. Persists: nothing.
    Assumes: the handler limits its own time. Fails: by closing, with a code and a reason.
    """

    transport: Final = "ws"

    def __init__(
        self, state: ServerState, upgrade: WebSocketUpgrade, extensions: Sequence[Extension]
    ) -> None:
        super().__init__(state)
        self._frames = ServerProtocol(state=State.OPEN, max_size=self._config.body_limit_bytes)
        self._frames.extensions = list(extensions)
        self._tasks: set[asyncio.Task[None]] = set()
        self._pending: deque[tuple[Opcode, bytes]] = deque()
        self._opcode = Opcode.TEXT
        self._message = bytearray()
        self._pinged = False
        self._stopping = False
        self.path = path_of(upgrade.target)
        self.host = upgrade.headers.get(b"host", b"").decode("latin-1")

    @property
    def closed(self) -> bool:
        """Return whether nothing can be sent any more."""
        return self._close_callbacks.closed or self._frames.state is not State.OPEN

    def send(self, data: bytes) -> bool:
        """Push a document, and return whether it was accepted."""
        return self._send_message(Opcode.TEXT, data)

    def take_over(self, transport: asyncio.Transport, received: bytes) -> None:
        """Serve the client of an HTTP connection, which already sent the `received` bytes."""
        transport.set_protocol(self)
        self.connection_made(transport)
        if received:
            self.data_received(received)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start serving after the handshake."""
        super().connection_made(transport)
        self._counters.websockets_open += 1
        self._counters.websockets_total += 1
        self._reset_ping()

    def data_received(self, data: bytes) -> None:
        """Serve the messages in `data`."""
        self._counters.bytes_received += len(data)
        self._reset_ping()
        self._frames.receive_data(data)
        for frame in self._frames.events_received():
            assert isinstance(frame, Frame)
            self._on_frame(frame)
        self._flush()

    def eof_received(self) -> bool:
        """Close: without its own half, a client cannot end a WebSocket properly."""
        self._frames.receive_eof()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Drop pending requests. Handlers in progress finish, since they may be changing state."""
        self._pending.clear()
        self._counters.websockets_open -= 1
        super().connection_lost(exc)

    def resume_writing(self) -> None:
        """Continue with pending requests."""
        self._write_paused = False
        self._reset_ping()
        self._serve_pending()

    def expire(self) -> None:
        """Ping a silent client; disconnect one that did not respond to a ping."""
        if self._lingering or self._write_paused:
            self._transport.abort()
        elif self._pinged:
            self._fail(CloseCode.INTERNAL_ERROR, "no answer to a ping")
        else:
            self._reset_ping()
            self._pinged = True
            self._frames.send_ping(b"")
            self._flush()

    def stop(self) -> None:
        """Close as soon as the responses in progress are sent."""
        self._stopping = True
        self._pending.clear()
        if not self._tasks and self._frames.state is State.OPEN:
            self._frames.send_close(CloseCode.GOING_AWAY, "the node stops")
            self._flush()
            self._linger()

    def abort(self) -> None:
        """Close now."""
        self._pending.clear()
        for task in self._tasks:
            task.cancel()
        self._transport.abort()

    def _reset_ping(self) -> None:
        if not self._lingering and not self._write_paused:
            self._pinged = False
            self._set_timeout(self._config.websocket_ping_seconds)

    def _on_frame(self, frame: Frame) -> None:
        """Assemble messages; the protocol has already checked their order and size."""
        if frame.opcode is Opcode.CONT:
            self._message += frame.data
        elif frame.opcode is Opcode.TEXT or frame.opcode is Opcode.BINARY:
            self._opcode = frame.opcode
            if frame.fin:
                self._on_message(bytes(frame.data))
                return
            self._message = bytearray(frame.data)
        else:
            return
        if frame.fin:
            message, self._message = bytes(self._message), bytearray()
            self._on_message(message)

    def _on_message(self, message: bytes) -> None:
        if self._stopping or self._frames.state is not State.OPEN:
            return
        if self._opcode is Opcode.TEXT and not is_utf8(message):
            self._fail(CloseCode.INVALID_DATA, "text is UTF-8")
        elif self._is_full() or self._pending:
            self._pending.append((self._opcode, message))
            self._pause_reading()
        else:
            self._serve(self._opcode, message)

    def _is_full(self) -> bool:
        return self._write_paused or len(self._tasks) >= self._config.websocket_concurrency

    def _serve(self, opcode: Opcode, message: bytes) -> None:
        self._counters.requests_total += 1
        if self._rate is not None and not self._rate.allows(self._loop.time()):
            self._report_rejection(self._state.rejections.rate_limited)
            self._send_message(opcode, self._state.rejections.rate_limited.body)
            return
        result = self._call_handler(message)
        if isinstance(result, bytes):
            self._send_message(opcode, result)
        elif result is not None:
            task = asyncio.ensure_future(self._await_result(opcode, result))
            self._tasks.add(task)
            task.add_done_callback(self._on_task_done)

    async def _await_result(self, opcode: Opcode, result: Awaitable[bytes | None]) -> None:
        try:
            body = await result
        except Exception:
            logger.exception(HANDLER_FAILED)
            body = self._state.internal_error
        if body is not None:
            self._send_message(opcode, body)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self._close_callbacks.closed:
            return
        if self._stopping:
            self.stop()
        else:
            self._serve_pending()

    def _serve_pending(self) -> None:
        """Continue with pending requests, after a response or after the client has read."""
        while self._pending and not self._is_full():
            self._serve(*self._pending.popleft())
        if not self._pending and not self._write_paused:
            self._resume_reading()

    def _send_message(self, opcode: Opcode, data: bytes) -> bool:
        if self.closed or self._transport.is_closing():
            return False
        unsent = self._transport.get_write_buffer_size()
        # One document of any size is sent, so that a small limit does not make a large response impossible.
        if unsent and unsent + len(data) > self._config.websocket_queue_bytes:
            self._fail(CloseCode.POLICY_VIOLATION, "too much unread")
            return False
        if opcode is Opcode.TEXT:
            self._frames.send_text(data)
        else:
            self._frames.send_binary(data)
        self._flush()
        return True

    def _fail(self, code: CloseCode, reason: str) -> None:
        self._pending.clear()
        self._frames.fail(code, reason)
        self._flush()

    def _flush(self) -> None:
        for data in self._frames.data_to_send():
            if self._transport.is_closing():
                return
            if data:
                self.write(data)
            else:
                self._report_close()
                self._end_writing()

    def _report_close(self) -> None:
        """Report why the server closes the connection, if the client did not request it."""
        close = self._frames.close_sent
        if close is None or self._frames.close_rcvd is not None or close.code in OK_CLOSE_CODES:
            return
        reason = close.reason
        self._report_rejection(HttpResponse(close.code, TEXT, reason.encode(), reason=reason))


def is_utf8(data: bytes) -> bool:
    """Return whether `data` is UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
