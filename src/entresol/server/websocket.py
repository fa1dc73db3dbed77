"""WebSocket connections (RFC 6455): the handshake, frames, and each client's requests and subscriptions."""

from __future__ import annotations

import asyncio
from functools import partial
from http import HTTPStatus
from time import perf_counter
from typing import ClassVar, Final

from msgspec import Struct
from websockets.datastructures import Headers
from websockets.frames import OK_CLOSE_CODES, CloseCode, Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.typing import Origin

from entresol.errors.base import without_frames
from entresol.server.access_control import OriginCheck
from entresol.server.http.request import WebSocketUpgrade, path_of
from entresol.server.limits import RequestRate
from entresol.server.protocol import DuplexConnection
from entresol.server.responses import TEXT, HttpResponse
from entresol.server.server_state import ServerState

try:
    from websockets.speedups import apply_mask
except ImportError:  # pragma: no cover  # where the library was built without its C extension
    from websockets.utils import apply_mask

HEADER_BYTES: Final = 2
MASK_BYTES: Final = 4
SMALL_BYTES: Final = 64
"""A fragment of less carries little for the work that it causes."""

_FIN, _CONTROL, _OPCODE = 0x80, 0x08, 0x0F
_MASKED, _LENGTH = 0x80, 0x7F
_MESSAGES: Final = frozenset({_FIN | Opcode.TEXT, _FIN | Opcode.BINARY})
_LENGTH_OF_2_BYTES, _LENGTH_OF_8_BYTES = 126, 127

OPCODE_BITS: Final = 0x0F
TOO_MANY_LONG_REQUESTS: Final = "too many long requests at a time"
TOO_MANY_SMALL_FRAMES: Final = "too many pings, pongs, empty frames or small fragments"


class Handshake(Struct, frozen=True):
    """The result of a handshake."""

    response: bytes
    rejection: HttpResponse | None
    """The response as a rejection, unless the upgrade is accepted."""


def handshake(upgrade: WebSocketUpgrade, origins: OriginCheck) -> Handshake:
    """Accept or reject `upgrade`."""
    allowed = None
    if not origins.any:
        allowed = [None, *(Origin(origin.decode()) for origin in origins.origins)]
    negotiation = ServerProtocol(origins=allowed)
    headers = Headers()
    for name, value in upgrade.headers.items():
        headers[name.decode("latin-1")] = value.decode("latin-1")
    response = negotiation.accept(Request(upgrade.target.decode("latin-1"), headers))
    rejection = None
    if response.status_code != HTTPStatus.SWITCHING_PROTOCOLS:
        body = bytes(response.body or b"")
        reason = body.decode(errors="replace").strip()
        rejection = HttpResponse(response.status_code, TEXT, body, reason=reason)
    return Handshake(response.serialize(), rejection)


class FrameSplitter:
    """Holds bytes that were received, and returns them in pieces of at most one frame.

    The library for WebSockets parses all frames of what it is given before it returns. A piece bounds that, and costs
    little: long frames are returned as they arrived. The frames are not validated here.

    Remembers: bytes of one read, or an incomplete header. Assumes: nothing of the bytes.
    """

    __slots__ = ("_at", "_data", "_header", "_incomplete", "_missing", "is_small")

    def __init__(self) -> None:
        self._data = b""
        self._at = 0
        self._header = 0
        self._missing = 0
        self._incomplete = False
        self.is_small = False
        """Whether the last piece began a control frame, an empty frame or a small fragment."""

    def __len__(self) -> int:
        """Return the number of bytes that are held."""
        return len(self._data) - self._at

    @property
    def has_frame(self) -> bool:
        """Whether there may be another piece."""
        return self._at < len(self._data) and not self._incomplete

    @property
    def begins_frame(self) -> bool:
        """Whether the last piece began a frame."""
        return self._header > 0

    def receive(self, data: bytes) -> None:
        """Append `data`."""
        self._data = self._data[self._at :] + data if self._at < len(self._data) else data
        self._at = 0
        self._incomplete = False

    def clear(self) -> None:
        """Drop all bytes."""
        self._data = b""
        self._at = 0

    def next_piece(self) -> bytes:
        """Return the next piece; empty if nothing but an incomplete header is left."""
        self._header = 0
        self.is_small = False
        if not self._missing:
            self._missing = self._begin_frame()
            self._incomplete = not self._missing
        piece = self._data[self._at : self._at + self._missing]
        self._at += len(piece)
        self._missing -= len(piece)
        return piece

    def message(self, piece: bytes) -> bytes | None:
        """Return the message if `piece`, the last one, is a whole message in one frame."""
        start = self._header
        if self._missing or not start or piece[0] not in _MESSAGES or not piece[1] & _MASKED:
            return None
        return apply_mask(piece[start:], piece[start - MASK_BYTES : start])

    def _begin_frame(self) -> int:
        """Return the size of the next frame; 0 if its header is incomplete."""
        held = len(self._data) - self._at
        if held < HEADER_BYTES:
            return 0
        first, second = self._data[self._at], self._data[self._at + 1]
        header = HEADER_BYTES + (MASK_BYTES if second & _MASKED else 0)
        length = second & _LENGTH
        if length >= _LENGTH_OF_2_BYTES:
            size = 2 if length == _LENGTH_OF_2_BYTES else 8
            if held < HEADER_BYTES + size:
                return 0
            start = self._at + HEADER_BYTES
            length = int.from_bytes(self._data[start : start + size], "big")
            header += size
        whole = first & _FIN and first & _OPCODE
        self.is_small = not length or bool(first & _CONTROL) or (not whole and length < SMALL_BYTES)
        self._header = header
        return header + length


class WebSocketConnection(DuplexConnection):
    """Serves one WebSocket client. Its requests run concurrently, and each response is sent when it is ready.

    Remembers: bytes beyond the requests that may run at once. Assumes: the handler limits its own time. Fails: by
    closing, with a code and a reason.
    """

    transport: Final = "ws"
    small_frames_per_second: ClassVar[float] = 500.0
    """Pings, pongs, empty frames and fragments of less than 64 bytes that a client may send: far more than any does."""

    def __init__(self, state: ServerState, upgrade: WebSocketUpgrade) -> None:
        super().__init__(state)
        self._frames = ServerProtocol(state=State.OPEN, max_size=self._config.body_limit_bytes)
        self._splitter = FrameSplitter()
        self._small_frames = RequestRate(self.small_frames_per_second, self._loop.time())
        self._opcode = Opcode.TEXT
        self._message: bytearray | None = None
        """The part of a fragmented message that has arrived."""
        self._fragment_bytes = 0
        self._pinged = False
        self.path = path_of(upgrade.target)
        host = upgrade.headers.get(b"host", b"")
        self.host = host.decode("latin-1")
        self.is_foreign = state.origins.is_foreign(upgrade.headers.get(b"origin"), host)

    @property
    def closed(self) -> bool:
        """Return whether nothing can be sent any more."""
        return self._close_callbacks.closed or self._frames.state is not State.OPEN

    def send(self, data: bytes) -> bool:
        """Push a document, and return whether it was accepted."""
        return self._send_message(Opcode.TEXT, data)

    def disconnect(self, reason: str) -> None:
        """Close, and send the client the reason."""
        if not self.closed and not self._transport.is_closing():
            self._fail(CloseCode.POLICY_VIOLATION, reason)

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
        if self._frames.eof_sent:
            return
        self._splitter.receive(data)
        if not self._queued and not self._is_full():
            self._receive_frame()
        if self._splitter.has_frame:
            self._serve_later(len(self._splitter))

    def serve_backlog(self, until: float) -> bool:
        """Serve the frames that were received, for a slice of time; return whether there are more."""
        self._reset_ping()
        while not self._is_full() and self._receive_frame():
            if perf_counter() >= until:
                # What is received in the same turn would only wait here.
                self._pause_reading()
                return True
        self._queued = False
        self._continue()
        return False

    def eof_received(self) -> bool:
        """Close: without its own half, a client cannot end a WebSocket properly."""
        self._frames.receive_eof()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Drop the backlog. Handlers in progress finish, since they may be changing state."""
        self._splitter.clear()
        self._counters.websockets_open -= 1
        self._message = self._incoming = None
        _break_cycles(self._frames)
        super().connection_lost(exc)

    def resume_writing(self) -> None:
        """Continue with the backlog."""
        self._write_paused = False
        self._reset_ping()
        self._continue()

    def expire(self) -> None:
        """Ping a silent client; disconnect one that did not respond to a ping."""
        if self._lingering or self._write_paused:
            self._transport.abort()
        elif self._pinged:
            self._fail(CloseCode.INTERNAL_ERROR, "no response to a ping")
        else:
            self._reset_ping()
            self._pinged = True
            self._frames.send_ping(b"")
            self._flush()

    def stop(self) -> None:
        """Close as soon as the responses in progress are sent."""
        self._stopping = True
        if not self._tasks and self._frames.state is State.OPEN:
            self._frames.send_close(CloseCode.GOING_AWAY, "the node stops")
            self._flush()
            self._linger()

    def abort(self) -> None:
        """Close now."""
        self._splitter.clear()
        self._cancel_tasks()
        self._transport.abort()

    def _reset_ping(self) -> None:
        if not self._lingering and not self._write_paused:
            self._pinged = False
            self._set_timeout(self.ping_seconds)

    def _receive_frame(self) -> bool:
        """Parse at most one frame, and serve its message; return whether there may be another one."""
        piece = self._splitter.next_piece()
        if not piece:
            return False
        if self._splitter.is_small and not self._small_frames.allows(self._loop.time()):
            self._fail(CloseCode.POLICY_VIOLATION, TOO_MANY_SMALL_FRAMES)
            return False
        message = self._splitter.message(piece) if self._is_between_messages() else None
        if message is not None and len(message) <= self._config.body_limit_bytes:
            self._opcode = Opcode(piece[0] & OPCODE_BITS)
            self._on_message(message)
            return True
        if not self._hold_fragment(len(piece)):
            self._fail(CloseCode.TRY_AGAIN_LATER, TOO_MANY_LONG_REQUESTS)
            return False
        self._frames.receive_data(piece)
        for frame in self._frames.events_received():
            assert isinstance(frame, Frame)
            self._on_frame(frame)
        self._flush()
        return True

    def _hold_fragment(self, size: int) -> bool:
        """Count the bytes of a frame or message that is incomplete; return whether there is room for them."""
        if self._splitter.begins_frame and self._message is None:
            self._fragment_bytes = 0
        self._fragment_bytes += size
        return self._hold_incoming(self._fragment_bytes)

    def _is_between_messages(self) -> bool:
        """Whether a message in one frame needs nothing of what the library remembers."""
        return self._message is None and self._frames.state is State.OPEN

    def _on_frame(self, frame: Frame) -> None:
        """Assemble messages; the protocol has already checked their order and size."""
        if frame.opcode is Opcode.TEXT or frame.opcode is Opcode.BINARY:
            self._opcode = frame.opcode
            self._message = bytearray()
        elif frame.opcode is not Opcode.CONT or self._message is None:
            return
        self._message += frame.data
        if frame.fin:
            message, self._message = bytes(self._message), None
            self._on_message(message)

    def _on_message(self, message: bytes) -> None:
        if self._stopping or self._frames.state is not State.OPEN:
            return
        if self._opcode is Opcode.TEXT and not is_utf8(message):
            self._fail(CloseCode.INVALID_DATA, "text is UTF-8")
        else:
            self._serve(message, partial(self._send_message, self._opcode))

    def _continue(self) -> None:
        """Continue with the backlog and with reading, as soon as a request can be served."""
        if self._is_full():
            self._pause_reading()
        elif self._splitter.has_frame:
            self._serve_later(len(self._splitter))
        else:
            self._resume_reading()

    def _send_message(self, opcode: Opcode, data: bytes) -> bool:
        if self.closed or self._transport.is_closing():
            return False
        unsent = self._transport.get_write_buffer_size()
        # One document of any size is sent, so that a small limit does not make a large response impossible.
        if unsent and unsent + len(data) > self.queue_bytes:
            self._fail(CloseCode.POLICY_VIOLATION, "too much unread")
            return False
        if opcode is Opcode.TEXT:
            self._frames.send_text(data)
        else:
            self._frames.send_binary(data)
        self._flush()
        return True

    def _fail(self, code: CloseCode, reason: str) -> None:
        self._frames.fail(code, reason)
        self._flush()

    def _flush(self) -> None:
        for data in self._frames.data_to_send():
            if self._transport.is_closing():
                return
            if data:
                self.write(data)
            else:
                self._splitter.clear()
                self._report_close()
                self._end_writing()

    def _report_close(self) -> None:
        """Report why the server closes the connection, if the client did not request it."""
        close = self._frames.close_sent
        if close is None or self._frames.close_rcvd is not None or close.code in OK_CLOSE_CODES:
            return
        reason = close.reason
        self._report_rejection(HttpResponse(close.code, TEXT, reason.encode(), reason=reason))


def _break_cycles(frames: ServerProtocol) -> None:
    """Have what is left of incomplete frames freed without the garbage collector."""
    frames.parser.close()
    if frames.parser_exc is not None:
        without_frames(frames.parser_exc)


def is_utf8(data: bytes) -> bool:
    """Return whether `data` is UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
