"""One WebSocket: frames in, answers and pushed documents out, never more than the client reads."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable
from http import HTTPStatus
from typing import Final, cast

from websockets.datastructures import Headers
from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory
from websockets.frames import OK_CLOSE_CODES, CloseCode, Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.typing import Origin

from entresol.server import responses
from entresol.server.protocol import ClientProtocol
from entresol.server.responses import HttpResponse
from entresol.server.state import ServerState

logger = logging.getLogger(__name__)


class WebSocketConnection(ClientProtocol):
    """Serves one client. Its requests run beside each other, and each is answered when it is done.

    Remembers: requests beyond the number that may run at once. Persists: nothing.
    Assumes: the handler limits its own time. Fails: by closing, with a code and a reason.
    """

    transport: Final = "ws"

    def __init__(
        self, service: ServerState, path: str, url: bytes, headers: dict[bytes, bytes]
    ) -> None:
        super().__init__(service)
        self._url = url
        self._headers = headers
        self._frames = ServerProtocol(state=State.OPEN, max_size=self._config.body_limit_bytes)
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: deque[tuple[Opcode, bytes]] = deque()
        self._kind = Opcode.TEXT
        self._message = bytearray()
        self._pinged = False
        self._stopping = False
        self.path = path
        self.host = headers.get(b"host", b"").decode("latin-1")
        self.rejection: HttpResponse | None = None

    @property
    def closed(self) -> bool:
        """Tell whether nothing can be sent any more."""
        return self._closing.closed or self._frames.state is not State.OPEN

    def send(self, data: bytes) -> bool:
        """Push a document, and tell whether it was taken."""
        return self._transmit(Opcode.TEXT, data)

    def handshake(self) -> bytes:
        """Return the answer to the request to open; `rejection` is set if that is no."""
        origins = None
        if not self._service.origins.any:
            origins = [None, *(Origin(o.decode()) for o in self._service.origins.origins)]
        extensions = [ServerPerMessageDeflateFactory()] if self._config.websocket_deflate else None
        negotiation = ServerProtocol(origins=origins, extensions=extensions)
        headers = Headers()
        for name, value in self._headers.items():
            headers[name.decode("latin-1")] = value.decode("latin-1")
        response = negotiation.accept(Request(self._url.decode("latin-1"), headers))
        if response.status_code != HTTPStatus.SWITCHING_PROTOCOLS:
            body = response.body or b""
            self.rejection = HttpResponse(response.status_code, responses.TEXT, bytes(body))
        self._frames.extensions = negotiation.extensions
        return response.serialize()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin after the handshake."""
        super().connection_made(transport)
        self._counters.websockets_open += 1
        self._counters.websockets_total += 1
        self._heard()

    def data_received(self, data: bytes) -> None:
        """Read on."""
        self._counters.bytes_received += len(data)
        self._heard()
        self._frames.receive_data(data)
        for frame in self._frames.events_received():
            assert isinstance(frame, Frame)
            self._take(frame)
        self._flush()

    def eof_received(self) -> bool:
        """Close: without its own half, a client cannot end a WebSocket properly."""
        self._frames.receive_eof()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client. Handlers under way finish, since they may be changing something."""
        self._waiting.clear()
        self._counters.websockets_open -= 1
        super().connection_lost(exc)

    def resume_writing(self) -> None:
        """Go on."""
        self._clogged = False
        self._heard()
        self._proceed()

    def expire(self) -> None:
        """Ask a silent client whether it is there, then give up."""
        if self._lingering or self._clogged:
            self._transport.abort()
        elif self._pinged:
            self._fail(CloseCode.INTERNAL_ERROR, "no answer to a ping")
        else:
            self._heard()
            self._pinged = True
            self._frames.send_ping(b"")
            self._flush()

    def stop(self) -> None:
        """Close as soon as the answers under way are sent."""
        self._stopping = True
        self._waiting.clear()
        if not self._tasks and self._frames.state is State.OPEN:
            self._frames.send_close(CloseCode.GOING_AWAY, "the node stops")
            self._flush()
            self._linger()

    def abort(self) -> None:
        """Close now."""
        self._waiting.clear()
        for task in self._tasks:
            task.cancel()
        self._transport.abort()

    def _heard(self) -> None:
        if not self._lingering and not self._clogged:
            self._pinged = False
            self._allow(self._config.websocket_ping_seconds)

    def _take(self, frame: Frame) -> None:
        """Put messages together; the protocol has already checked their order and size."""
        if frame.opcode is Opcode.CONT:
            self._message += frame.data
        elif frame.opcode is Opcode.TEXT or frame.opcode is Opcode.BINARY:
            self._kind = frame.opcode
            if frame.fin:
                self._receive(bytes(frame.data))
                return
            self._message = bytearray(frame.data)
        else:
            return
        if frame.fin:
            message, self._message = bytes(self._message), bytearray()
            self._receive(message)

    def _receive(self, message: bytes) -> None:
        if self._stopping or self._frames.state is not State.OPEN:
            return
        if self._kind is Opcode.TEXT and not is_utf8(message):
            self._fail(CloseCode.INVALID_DATA, "text is UTF-8")
        elif self._is_full() or self._waiting:
            self._waiting.append((self._kind, message))
            self._pause_reading()
        else:
            self._serve(self._kind, message)

    def _is_full(self) -> bool:
        return self._clogged or len(self._tasks) >= self._config.websocket_concurrency

    def _serve(self, kind: Opcode, message: bytes) -> None:
        self._counters.requests_total += 1
        if self._rate is not None and not self._rate.allows(self._loop.time()):
            self._tell_rejection(responses.RATE_REFUSAL)
            self._transmit(kind, responses.TOO_MANY_REQUESTS)
            return
        try:
            answer = self._handler(message, self)
        except Exception:
            logger.exception("the handler of a request failed")
            answer = responses.INTERNAL_ERROR
        if type(answer) is bytes:
            self._transmit(kind, answer)
        elif answer is not None:
            waiting = cast("Awaitable[bytes | None]", answer)
            task = asyncio.ensure_future(self._await_and_answer(kind, waiting))
            self._tasks.add(task)
            task.add_done_callback(self._finish)

    async def _await_and_answer(self, kind: Opcode, answer: Awaitable[bytes | None]) -> None:
        try:
            body = await answer
        except Exception:
            logger.exception("the handler of a request failed")
            body = responses.INTERNAL_ERROR
        if body is not None:
            self._transmit(kind, body)

    def _finish(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self._closing.closed:
            return
        if self._stopping:
            self.stop()
        else:
            self._proceed()

    def _proceed(self) -> None:
        """Go on with what waits, after an answer or after the client has read."""
        while self._waiting and not self._is_full():
            self._serve(*self._waiting.popleft())
        if not self._waiting and not self._clogged:
            self._resume_reading()

    def _transmit(self, kind: Opcode, data: bytes) -> bool:
        if self.closed or self._transport.is_closing():
            return False
        unsent = self._transport.get_write_buffer_size()
        # One document of any size is let through, so that a small limit does not make a large answer impossible.
        if unsent and unsent + len(data) > self._config.websocket_queue_bytes:
            self._fail(CloseCode.POLICY_VIOLATION, "too much unread")
            return False
        if kind is Opcode.TEXT:
            self._frames.send_text(data)
        else:
            self._frames.send_binary(data)
        self._flush()
        return True

    def _fail(self, code: CloseCode, reason: str) -> None:
        self._waiting.clear()
        self._frames.fail(code, reason)
        self._flush()

    def _flush(self) -> None:
        for data in self._frames.data_to_send():
            if self._transport.is_closing():
                return
            if data:
                self._write(data)
            else:
                self._tell_why()
                self._end_writing()

    def _tell_why(self) -> None:
        """Say why the connection ends, if it is not the client's wish."""
        close = self._frames.close_sent
        if (
            close is not None
            and self._frames.close_rcvd is None
            and close.code not in OK_CLOSE_CODES
        ):
            self._tell_rejection(HttpResponse(close.code, responses.TEXT, close.reason.encode()))


def is_utf8(data: bytes) -> bool:
    """Tell whether `data` is text."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
