"""Parse HTTP requests from bytes, and reject those that are malformed or too large."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import ClassVar

import httptools

from entresol.server.handler import Page
from entresol.server.http.request import (
    HttpRequest,
    RequestRejectedError,
    WebSocketUpgrade,
    head_without_upgrade,
    is_json,
    path_of,
)
from entresol.server.http.responder import route_request
from entresol.server.limits import LONG_BYTES, HeldBytes
from entresol.server.responses import (
    BAD_REQUEST,
    CONTINUE,
    HEADERS_TOO_LARGE,
    UNKNOWN_EXPECTATION,
    HttpResponse,
    accepts_gzip,
)
from entresol.server.server_state import ServerState

IDLE, HEADERS, BODY = range(3)
MAX_REPEATED_HEADERS = 64
# A byte in a chunk of its own takes six on the wire.
FRAMING_FACTOR = 8
# What is parsed before others have a turn: about a hundred of the shortest requests.
PIECE_BYTES = 4096


class HttpParser:
    """Turns bytes into requests, however the bytes are split.

    httptools calls the `on_` methods for every request, so they are written for speed.
    """

    header_limit_bytes: ClassVar[int] = 32 * 1024
    """Request line and headers together: four times as much as other servers take, for cookies of other programs."""

    def __init__(
        self,
        state: ServerState,
        on_request: Callable[[HttpRequest], None],
        on_interim: Callable[[bytes], None],
    ) -> None:
        self._state = state
        self._on_request = on_request
        self._on_interim = on_interim
        self._heads = state.heads
        self._allowed_hosts = state.hosts.allowed
        self._content_types = state.content_types
        self._body_limit = state.config.body_limit_bytes
        self._parser = httptools.HttpRequestParser(self)
        self.phase = IDLE
        self.upgrade: WebSocketUpgrade | None = None
        self._done = False
        self._cacheable: HttpRequest | None = None
        self._caches = False
        self._chunk_bytes = 0
        self._unparsed = b""
        self._at = 0
        self._reset()

    def _reset(self) -> None:
        self._target = b""
        self._headers: dict[bytes, bytes] = {}
        self._body: bytes | BytesIO = b""
        self._body_bytes = 0
        self._held: HeldBytes | None = None
        self._body_size = 0
        self._raw_bytes = 0
        self._header_bytes = -1
        self._repeated = 0
        self._page: Page | None = None
        self._rejection: HttpResponse | None = None
        self._upgrade_declined = False

    @property
    def is_at_start(self) -> bool:
        """Whether the next byte begins a request."""
        return self.phase == IDLE and not self._done

    @property
    def unparsed(self) -> int:
        """Return the number of bytes that were received and not parsed."""
        return len(self._unparsed) - self._at

    def receive(self, data: bytes) -> None:
        """Append `data` to what is to be parsed."""
        self._unparsed = self._unparsed[self._at :] + data if self.unparsed else data
        self._at = 0
        self._caches = self.is_at_start
        self._cacheable = None

    def discard(self) -> None:
        """Drop what was not parsed."""
        self._unparsed = b""
        self._at = 0

    def abandon(self) -> None:
        """Drop the request that was being parsed, and what follows it."""
        self.discard()
        self._reset()

    def close(self) -> None:
        """Drop everything, also what only the garbage collector would find, because the connection has closed."""
        self.abandon()
        del self._parser, self._on_request, self._on_interim

    def parse_piece(self) -> bytes | None:
        """Parse a piece of what was received; return what follows a WebSocket upgrade, if there is one."""
        size = PIECE_BYTES
        if self.phase == BODY:
            size = max(size, self._body_size - self._body_bytes)
        piece = self._unparsed[self._at : self._at + size]
        self._at += len(piece)
        rest = self._parse(piece)
        if rest is not None:
            rest += self._unparsed[self._at :]
            self.discard()
        elif self._at == len(self._unparsed):
            self._cache_head(self._unparsed)
            self.discard()
        return rest

    def _cache_head(self, data: bytes) -> None:
        """Cache the head of `data`, if that was one request and nothing else."""
        if self._cacheable is not None and self._caches and self.phase == IDLE:
            self._heads.add(data, self._cacheable)

    def _parse(self, data: bytes) -> bytes | None:
        while not self._done:
            self._chunk_bytes = len(data)
            before = self.phase
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                data = data[upgrade.args[0] :]
                if self.upgrade is not None:
                    return data
                if self._upgrade_declined:
                    # A server may ignore the offer, but httptools parses no body behind one.
                    method = self._parser.get_method()
                    data = head_without_upgrade(method, self._target, self._headers) + data
                    self._parser = httptools.HttpRequestParser(self)
                continue
            except httptools.HttpParserError as error:
                self._raise_parser_error(error)
            if self.phase != IDLE:
                self._limit_incomplete(before, len(data))
            return None
        return None

    def _raise_parser_error(self, error: httptools.HttpParserError) -> None:
        """Raise what stopped the parser, unless that was data behind the last request."""
        if isinstance(error, httptools.HttpParserCallbackError):
            raise (error.__context__ or error) from None
        if not self._done:
            raise RequestRejectedError(BAD_REQUEST) from None

    def _limit_incomplete(self, before: int, size: int) -> None:
        if self.phase == HEADERS:
            # Where in the first chunk the request began is unknown, so that chunk is not counted.
            self._header_bytes = 0 if self._header_bytes < 0 else self._header_bytes + size
            if self._header_bytes > self.header_limit_bytes:
                raise RequestRejectedError(HEADERS_TOO_LARGE)
        elif before == BODY:
            self._raw_bytes += size
            if self._raw_bytes > self._body_limit * FRAMING_FACTOR + self.header_limit_bytes:
                raise RequestRejectedError(self._state.rejections.too_large)

    def on_message_begin(self) -> None:
        """Begin a request."""
        self.phase = HEADERS
        self._reset()

    def on_url(self, url: bytes) -> None:
        """Append to the request target."""
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header; ignore a trailer."""
        if self.phase != HEADERS:
            return
        name = name.lower()
        if name in self._headers:
            self._repeated += 1
            if self._repeated > MAX_REPEATED_HEADERS:
                raise RequestRejectedError(HEADERS_TOO_LARGE)
            value = self._headers[name] + b", " + value
        self._headers[name] = value

    def on_headers_complete(self) -> None:
        """Check the headers, and decide what handles the request."""
        headers = self._headers
        if self._chunk_bytes > self.header_limit_bytes or self._header_bytes >= 0:
            self._limit_headers()
        self.phase = BODY
        if b"upgrade" in headers and self._declines_upgrade():
            return
        self._body_size = int(headers.get(b"content-length", b"0"))
        if self._body_size > self._body_limit:
            raise RequestRejectedError(self._state.rejections.too_large)
        if (
            headers.get(b"content-type") not in self._content_types
            or headers.get(b"host") not in self._allowed_hosts
            or self._parser.get_method() != b"POST"
        ):
            self._route()
        if b"expect" in headers:
            self._check_expectation(headers[b"expect"])

    def _declines_upgrade(self) -> bool:
        """Return whether the client offers a protocol that we do not speak (HTTP/2, by some clients)."""
        websocket = self._headers[b"upgrade"].lower() == b"websocket"
        wanted = websocket and self._parser.get_method() == b"GET"
        self._upgrade_declined = self._parser.should_upgrade() and not wanted
        return self._upgrade_declined

    def _limit_headers(self) -> None:
        fields = sum(len(name) + len(value) + 4 for name, value in self._headers.items())
        if fields + len(self._target) > self.header_limit_bytes:
            raise RequestRejectedError(HEADERS_TOO_LARGE)

    def _route(self) -> None:
        route = route_request(self._state, self._parser, self._target, self._headers)
        if isinstance(route, HttpResponse):
            self._rejection = route
        elif isinstance(route, WebSocketUpgrade):
            self.upgrade = route
        else:
            self._page = route

    def _check_expectation(self, expected: bytes) -> None:
        if expected.lower() != b"100-continue":
            raise RequestRejectedError(UNKNOWN_EXPECTATION)
        if self._rejection is not None:
            raise RequestRejectedError(self._rejection)
        if self._parser.get_http_version() != "1.0":
            self._on_interim(CONTINUE)

    def on_body(self, data: bytes) -> None:
        """Append to the body."""
        self._body_bytes += len(data)
        if self._body_bytes > self._body_limit:
            raise RequestRejectedError(self._state.rejections.too_large)
        if self._body_bytes > LONG_BYTES:
            self._hold(len(data))
        if not self._body:
            self._body = data
        elif self._rejection is None:
            # Not a list: a body in chunks of one byte would take far more than its own size. Nor a byte array, from
            # which the body would be copied at once, and hold the event loop for as long as that takes.
            if isinstance(self._body, bytes):
                begun = self._body
                self._body = BytesIO()
                self._body.write(begun)
            self._body.write(data)

    def _hold(self, size: int) -> None:
        if self._held is None:
            self._held = HeldBytes(self._state.request_bytes)
            size = self._body_bytes
        if not self._held.grow(size):
            raise RequestRejectedError(self._state.rejections.overloaded)

    def on_message_complete(self) -> None:
        """Pass the request on."""
        self.phase = IDLE
        if self.upgrade is not None or self._upgrade_declined:
            return
        body = self._body if isinstance(self._body, bytes) else self._body.getvalue()
        rejection = self._rejection
        if self._page is None and rejection is None and body[:1] != b"{" and not is_json(body):
            rejection = self._state.rejections.malformed
        headers = self._headers
        response_headers = self._state.origins.headers(headers.get(b"origin"))
        keep_alive = self._parser.should_keep_alive()
        if not keep_alive:
            self._done = True
            response_headers += b"connection: close\r\n"
        elif b"connection" in headers:
            response_headers += b"connection: keep-alive\r\n"
        request = HttpRequest(
            path_of(self._target),
            headers.get(b"host", b"").decode("latin-1"),
            body,
            response_headers,
            accepts_gzip(headers.get(b"accept-encoding")),
            not keep_alive,
            self._page,
            rejection,
            rejection is not None and self._parser.get_method() == b"HEAD",
            self._held,
            self._parser.get_http_version() == "1.0",
            self._state.origins.is_foreign(headers.get(b"origin"), headers.get(b"host")),
        )
        self._held, self._body = None, b""
        # The request itself is kept until more is received, which must not be a long one.
        if request.is_plain and b"expect" not in headers and request.held is None:
            self._cacheable = request
        self._on_request(request)
