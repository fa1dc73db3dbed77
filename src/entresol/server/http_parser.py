"""Reading HTTP requests: from bytes to what is to be answered, or the reason why it is rejected."""

from __future__ import annotations

from collections.abc import Callable

import httptools
from msgspec import Struct

from entresol.server import responses
from entresol.server.connection import Page
from entresol.server.request import HttpRequest
from entresol.server.responses import CONTENT_TYPES, HttpResponse
from entresol.server.state import ServerState

IDLE, HEADERS, BODY = range(3)
REPEATED_HEADERS = 64
# One byte in a chunk of its own takes six on the wire.
FRAMING_FACTOR = 8


class WebSocketUpgrade(Struct, frozen=True):
    """A request to go on as a WebSocket."""

    url: bytes
    headers: dict[bytes, bytes]


class RequestRejectedError(Exception):
    """What follows on the connection cannot be understood or is unwanted; `reply` is the last word."""

    def __init__(self, reply: HttpResponse) -> None:
        super().__init__(reply.status)
        self.reply = reply


class HttpParser:
    """Makes exchanges of bytes, however these are split.

    The parser calls the `on_` methods. Every request passes them, so they do little in many words.
    """

    def __init__(
        self,
        service: ServerState,
        deliver: Callable[[HttpRequest], None],
        interim: Callable[[bytes], None],
    ) -> None:
        self._service = service
        self._deliver = deliver
        self._interim = interim
        self._heads = service.heads
        self._hosts_seen = service.hosts.seen
        self._body_limit = service.config.body_limit_bytes
        self._header_limit = service.config.header_limit_bytes
        self._parser = httptools.HttpRequestParser(self)
        self.phase = IDLE
        self.opening: WebSocketUpgrade | None = None
        self._done = False
        self._plain: HttpRequest | None = None
        self._chunk_bytes = 0
        self._begin()

    def _begin(self) -> None:
        self._url = b""
        self._headers: dict[bytes, bytes] = {}
        self._body: bytes | bytearray = b""
        self._body_bytes = 0
        self._raw_bytes = 0
        self._header_bytes = -1
        self._repeated = 0
        self._page: Page | None = None
        self._rejection: HttpResponse | None = None
        self._declined = False

    @property
    def is_at_start(self) -> bool:
        """Whether what comes next begins a request."""
        return self.phase == IDLE and not self._done

    def feed(self, data: bytes) -> bytes | None:
        """Read on; return what follows the request if that asks for a WebSocket. Raise Rejected."""
        if not self.is_at_start:
            return self._parse(data)
        self._plain = None
        rest = self._parse(data)
        self._learn(data)
        return rest

    def _learn(self, data: bytes) -> None:
        """Know the next request with the same head, if `data` was one request and nothing else."""
        if self._plain is not None and self.phase == IDLE:
            self._heads.learn(data, self._plain)

    def _parse(self, data: bytes) -> bytes | None:
        while not self._done:
            self._chunk_bytes = len(data)
            before = self.phase
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                data = data[upgrade.args[0] :]
                if self.opening is not None:
                    return data
                if self._declined:
                    data = self._without_offer() + data
                continue
            except httptools.HttpParserError as error:
                self._explain(error)
            if self.phase != IDLE:
                self._count_unfinished(before, len(data))
            return None
        return None

    def _explain(self, error: httptools.HttpParserError) -> None:
        """Raise what stopped the parser, unless it only met data behind the last request."""
        if isinstance(error, httptools.HttpParserCallbackError):
            raise (error.__context__ or error) from None
        if not self._done:
            raise RequestRejectedError(responses.BAD_REQUEST) from None

    def _count_unfinished(self, before: int, size: int) -> None:
        if self.phase == HEADERS:
            # Where in the first piece the request began is unknown, so that piece is free.
            self._header_bytes = 0 if self._header_bytes < 0 else self._header_bytes + size
            if self._header_bytes > self._header_limit:
                raise RequestRejectedError(responses.HEADERS_TOO_LARGE)
        elif before == BODY:
            self._raw_bytes += size
            if self._raw_bytes > self._body_limit * FRAMING_FACTOR + self._header_limit:
                raise RequestRejectedError(responses.too_big(self._body_limit))

    def on_message_begin(self) -> None:
        """Start a request."""
        self.phase = HEADERS
        self._begin()

    def on_url(self, url: bytes) -> None:
        """Take a piece of the request's target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, or ignore a trailer."""
        if self.phase != HEADERS:
            return
        name = name.lower()
        if name in self._headers:
            self._repeated += 1
            if self._repeated > REPEATED_HEADERS:
                raise RequestRejectedError(responses.HEADERS_TOO_LARGE)
            value = self._headers[name] + b", " + value
        self._headers[name] = value

    def on_headers_complete(self) -> None:
        """Decide what becomes of the request."""
        headers = self._headers
        if self._chunk_bytes > self._header_limit or self._header_bytes > 0:
            self._check_header_size()
        self.phase = BODY
        if b"upgrade" in headers and self._declines_offer():
            return
        if int(headers.get(b"content-length", b"0")) > self._body_limit:
            raise RequestRejectedError(responses.too_big(self._body_limit))
        if (
            headers.get(b"content-type") not in CONTENT_TYPES
            or headers.get(b"host") not in self._hosts_seen
            or self._parser.get_method() != b"POST"
        ):
            self._rejection = self._consider()
        if b"expect" in headers:
            self._meet_expectation(headers[b"expect"])

    def _declines_offer(self) -> bool:
        """Tell whether a protocol is offered that we do not speak (HTTP/2, by some clients)."""
        websocket = self._headers[b"upgrade"].lower() == b"websocket"
        wanted = websocket and self._parser.get_method() == b"GET"
        self._declined = self._parser.should_upgrade() and not wanted
        return self._declined

    def _without_offer(self) -> bytes:
        """Return the head of the request as if nothing had been offered.

        A server may stay with the protocol it speaks, but this parser reads no body behind an offer.
        """
        head = b"%b %b HTTP/1.1\r\n" % (self._parser.get_method(), self._url)
        for name, value in self._headers.items():
            if name not in {b"connection", b"upgrade"}:
                head += b"%b: %b\r\n" % (name, value)
        self._parser = httptools.HttpRequestParser(self)
        return head + b"\r\n"

    def _check_header_size(self) -> None:
        fields = sum(len(name) + len(value) + 4 for name, value in self._headers.items())
        if fields + len(self._url) > self._header_limit:
            raise RequestRejectedError(responses.HEADERS_TOO_LARGE)

    def _consider(self) -> HttpResponse | None:
        """Return why the request is rejected; None if it is not."""
        host = self._headers.get(b"host")
        if host is None and self._parser.get_http_version() == "1.1":
            raise RequestRejectedError(responses.NO_HOST)
        if host is not None and not self._service.hosts.allows(host):
            return responses.wrong_host(host)
        method = self._parser.get_method()
        if method == b"GET":
            return self._consider_get()
        if method == b"OPTIONS" and b"access-control-request-method" in self._headers:
            return self._preflight()
        if method != b"POST":
            return responses.WRONG_VERB
        if self._headers.get(b"content-type", b"").lower() not in CONTENT_TYPES:
            return responses.WRONG_TYPE
        return None

    def _consider_get(self) -> HttpResponse | None:
        upgrade = self._headers.get(b"upgrade", b"")
        if upgrade.lower() == b"websocket" and self._parser.should_upgrade():
            self.opening = WebSocketUpgrade(self._url, self._headers)
            return None
        self._page = self._service.pages.get(path_of(self._url))
        return None if self._page is not None else responses.WRONG_VERB

    def _preflight(self) -> HttpResponse:
        # The lines that allow the origin are part of every answer.
        return responses.preflight(self._headers.get(b"access-control-request-headers", b""))

    def _meet_expectation(self, expected: bytes) -> None:
        if expected.lower() != b"100-continue":
            raise RequestRejectedError(responses.UNKNOWN_EXPECTATION)
        if self._rejection is not None:
            raise RequestRejectedError(self._rejection)
        if self._parser.get_http_version() != "1.0":
            self._interim(responses.CONTINUE)

    def on_body(self, data: bytes) -> None:
        """Take a piece of the body."""
        self._body_bytes += len(data)
        if self._body_bytes > self._body_limit:
            raise RequestRejectedError(responses.too_big(self._body_limit))
        if not self._body:
            self._body = data
        elif self._rejection is None:
            # Not a list: a body in pieces of one byte would take far more than its own size.
            if isinstance(self._body, bytes):
                self._body = bytearray(self._body)
            self._body += data

    def on_message_complete(self) -> None:
        """Deliver the request."""
        self.phase = IDLE
        if self.opening is not None or self._declined:
            return
        body = self._body if type(self._body) is bytes else bytes(self._body)
        rejection = self._rejection
        if self._page is None and rejection is None and body[:1] != b"{" and not is_json(body):
            rejection = responses.PARSE_REFUSAL
        headers = self._headers
        extra = self._service.origins.headers(headers.get(b"origin"))
        keep = self._parser.should_keep_alive()
        if not keep:
            self._done = True
            extra += b"connection: close\r\n"
        elif b"connection" in headers:
            extra += b"connection: keep-alive\r\n"
        exchange = HttpRequest(
            path_of(self._url),
            headers.get(b"host", b"").decode("latin-1"),
            body,
            extra,
            responses.accepts_gzip(headers.get(b"accept-encoding")),
            not keep,
            self._page,
            rejection,
            rejection is not None and self._parser.get_method() == b"HEAD",
        )
        if exchange.is_plain and b"expect" not in headers:
            self._plain = exchange
        self._deliver(exchange)


def is_json(body: bytes) -> bool:
    """Tell whether the body can be an object or an array."""
    return body.lstrip(b" \t\r\n")[:1] in {b"{", b"["}


def path_of(url: bytes) -> str:
    """Return the path in a request's target."""
    if url == b"/":
        return "/"
    if not url.startswith(b"/"):
        return absolute_path(url)
    return url.partition(b"?")[0].decode("latin-1")


def absolute_path(url: bytes) -> str:
    """Return the path of a target with scheme and host, as sent to a proxy."""
    try:
        path: bytes | None = httptools.parse_url(url).path
    except httptools.HttpParserInvalidURLError:
        path = url
    return (path or b"/").decode("latin-1")
