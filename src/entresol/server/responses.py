"""HTTP responses and their bytes, and the rejections that the format of the served documents words."""

from __future__ import annotations

import zlib
from http import HTTPStatus

from msgspec import Struct

JSON = b"application/json; charset=utf-8"
TEXT = b"text/plain; charset=utf-8"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
WITHOUT_CONTENT = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})

CHARSETS = (b"", b"; charset=utf-8", b";charset=utf-8")


class HttpResponse(Struct, frozen=True):
    """A response before it is framed.

    Where the server closes a WebSocket, `status` is the close code.
    """

    status: int
    content_type: bytes
    body: bytes
    headers: bytes = b""
    """Further header lines, each with its line break."""
    reason: str = ""
    """Why the request was rejected, if it was."""

    @property
    def is_compressed(self) -> bool:
        """Whether the body is compressed already."""
        return b"content-encoding:" in self.headers

    @property
    def is_rejection(self) -> bool:
        """Whether the client did not get what it requested."""
        return self.status >= HTTPStatus.BAD_REQUEST


def response_start(status: int, content_type: bytes) -> bytes:
    """Return the bytes of a response up to the content type."""
    line = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode()
    return line + b"content-type: " + content_type + b"\r\n" if content_type else line


JSON_OK = response_start(200, JSON)


def encode(response: HttpResponse, headers: bytes = b"", *, without_body: bool = False) -> bytes:
    """Return the bytes of the response, with further `headers`."""
    start = response_start(response.status, response.content_type)
    if response.status in WITHOUT_CONTENT:
        return start + response.headers + headers + b"\r\n"
    body = b"" if without_body else response.body
    return b"%b%b%bcontent-length: %d\r\n\r\n%b" % (
        start, response.headers, headers, len(response.body), body,
    )  # fmt: skip


def text(status: int, message: str, headers: bytes = b"") -> HttpResponse:
    """Return a rejection in plain text."""
    return HttpResponse(status, TEXT, message.encode() + b"\n", headers, message)


BAD_REQUEST = text(400, "this is not an HTTP request")
NO_HOST = text(400, "an HTTP/1.1 request needs a Host header")
NO_UPGRADE_HERE = text(400, "a WebSocket cannot begin behind unanswered requests")
HEADERS_TOO_LARGE = text(431, "the headers are too long")
TIMED_OUT = text(408, "the request took too long to arrive")
UNKNOWN_EXPECTATION = text(417, "only 100-continue can be expected")
NO_CONNECTION_LEFT = text(
    503, "too many connections: try again later", b"retry-after: 1\r\nconnection: close\r\n"
)
TOO_MUCH_UNSENT = text(503, "too much unread by all clients together")
WRONG_TYPE = text(415, "use the content type application/json")


def wrong_host(host: bytes) -> HttpResponse:
    """Return the rejection of a request whose `Host` is not this server."""
    name = host.decode("latin-1")
    return text(403, f"the host {name!a} is not one of this node's: add it to its allowed hosts")


def preflight(requested: bytes) -> HttpResponse:
    """Return the permission of a CORS preflight, for the `requested` headers."""
    headers = (
        b"access-control-allow-methods: POST, GET\r\n"
        b"access-control-allow-headers: %b\r\n"
        b"access-control-max-age: 86400\r\n" % (requested or b"content-type")
    )
    return HttpResponse(204, b"", b"", headers)


def accepts_gzip(header: bytes | None) -> bool:
    """Return whether an `Accept-Encoding` header names gzip."""
    if header is None or b"gzip" not in (header := header.lower()):
        return False
    for item in header.split(b","):
        coding, _, weight = item.partition(b";")
        if coding.strip() == b"gzip":
            return weight.replace(b" ", b"").rstrip(b"0.") != b"q="
    return False


def gzip(body: bytes, level: int) -> bytes:
    """Compress `body`."""
    # 16 + 15: gzip's framing around the largest window. Unlike gzip.compress, this never reads the clock.
    compressor = zlib.compressobj(level, zlib.DEFLATED, 31)
    return compressor.compress(body) + compressor.flush()


def compressed(response: HttpResponse) -> HttpResponse:
    """Return the response with a compressed body."""
    headers = response.headers + b"content-encoding: gzip\r\nvary: accept-encoding\r\n"
    body = gzip(response.body, level=1)
    return HttpResponse(response.status, response.content_type, body, headers)


class DocumentFormat(Struct, frozen=True, kw_only=True):
    """A protocol of JSON documents, as far as the server has to know it.

    Its errors are whole documents, so that clients read them as they read the handler's.
    """

    name: str
    """The name of what clients post, for messages to people."""
    media_types: tuple[bytes, ...]
    malformed: bytes
    """The error for a body that is neither a JSON object nor an array."""
    rate_limited: bytes
    """The error for more requests a second than are allowed."""
    too_large: bytes
    """The error for a body over the limit, which replaces `%d`."""
    overloaded: bytes
    """The error for a long request while others take all the memory that they may."""
    internal_error: bytes
    """The error for a handler that raised."""

    @property
    def content_types(self) -> frozenset[bytes]:
        """Return the values of `Content-Type` that are accepted."""
        return frozenset(media + charset for media in self.media_types for charset in CHARSETS)


class DocumentRejections:
    """The rejections whose wording depends on the document format."""

    def __init__(self, documents: DocumentFormat, body_limit: int) -> None:
        self.malformed = HttpResponse(400, JSON, documents.malformed, reason="Parse error")
        self.rate_limited = HttpResponse(
            429, JSON, documents.rate_limited, b"retry-after: 1\r\n", "Too many requests"
        )
        self.too_large = HttpResponse(
            413, JSON, documents.too_large % body_limit, reason="Request is too big"
        )
        self.overloaded = HttpResponse(
            503, JSON, documents.overloaded, b"retry-after: 1\r\n", "Too many long requests"
        )
        self.wrong_method = text(
            405, f"use POST, with a {documents.name} as the body", b"allow: POST, GET, OPTIONS\r\n"
        )
