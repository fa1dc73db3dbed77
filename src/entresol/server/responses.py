"""The bytes of answers: status lines, headers, compression, and the rejections the server makes itself."""

from __future__ import annotations

import zlib
from http import HTTPStatus
from typing import Final

from msgspec import Struct, json

JSON = b"application/json; charset=utf-8"
TEXT = b"text/plain; charset=utf-8"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

CONTENT_TYPES = frozenset(
    kind + charset
    for kind in (b"application/json", b"application/json-rpc")
    for charset in (b"", b"; charset=utf-8", b";charset=utf-8")
)

INTERNAL_ERROR = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"Internal error"}}'
TOO_MANY_REQUESTS = (
    b'{"jsonrpc":"2.0","id":null,"error":{"code":429,"message":"Too many requests"}}'
)
PARSE_ERROR = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}'


class HttpResponse(Struct, frozen=True):
    """An answer without its framing; `extra` is whole header lines.

    Where a WebSocket is ended, `status` is the code that says so.
    """

    status: int
    content_type: bytes
    body: bytes
    extra: bytes = b""

    @property
    def is_rejection(self) -> bool:
        """Whether the client did not get what it asked for."""
        return self.status >= HTTPStatus.BAD_REQUEST

    @property
    def reason(self) -> str:
        """The words of a rejection."""
        if self.content_type != JSON:
            return self.body.decode(errors="replace").strip()
        return _rejected(self.body).error.message


class _Error(Struct):
    message: str


class _Rejected(Struct):
    error: _Error


_rejected: Final = json.Decoder(_Rejected).decode


def head(status: int, content_type: bytes) -> bytes:
    """Return the start of an answer up to the content type."""
    line = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode()
    return line + b"content-type: " + content_type + b"\r\n" if content_type else line


JSON_OK = head(200, JSON)


def encode(reply: HttpResponse, extra: bytes = b"", *, without_body: bool = False) -> bytes:
    """Return the whole answer."""
    start = head(reply.status, reply.content_type)
    if reply.status == HTTPStatus.NO_CONTENT:
        return start + reply.extra + extra + b"\r\n"
    body = b"" if without_body else reply.body
    return b"%b%b%bcontent-length: %d\r\n\r\n%b" % (
        start, reply.extra, extra, len(reply.body), body,
    )  # fmt: skip


def text(status: int, message: str, extra: bytes = b"") -> HttpResponse:
    """Return a rejection for people."""
    return HttpResponse(status, TEXT, message.encode() + b"\n", extra)


def too_big(limit: int) -> HttpResponse:
    """Return the rejection of a body over `limit` bytes."""
    body = (
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32007,"message":"Request is too big",'
        b'"data":"Exceeded max limit of %d"}}' % limit
    )
    return HttpResponse(413, JSON, body)


PARSE_REFUSAL = HttpResponse(400, JSON, PARSE_ERROR)
RATE_REFUSAL = HttpResponse(429, JSON, TOO_MANY_REQUESTS, b"retry-after: 1\r\n")
BAD_REQUEST = text(400, "this is not an HTTP request")
NO_HOST = text(400, "an HTTP/1.1 request needs a Host header")
NO_UPGRADE_HERE = text(400, "a WebSocket cannot begin behind unanswered requests")
HEADERS_TOO_LARGE = text(431, "the headers are too long")
TIMED_OUT = text(408, "the request took too long to arrive")
UNKNOWN_EXPECTATION = text(417, "only 100-continue can be expected")
NO_CONNECTION_LEFT = text(
    503, "too many connections: try again later", b"retry-after: 1\r\nconnection: close\r\n"
)
WRONG_VERB = text(
    405, "use POST, with a JSON-RPC request as the body", b"allow: POST, GET, OPTIONS\r\n"
)
WRONG_TYPE = text(415, "use the content type application/json")


def wrong_host(host: bytes) -> HttpResponse:
    """Return the rejection of a request for somebody else."""
    name = host.decode("latin-1")
    return text(403, f"the host {name!a} is not one of this node's: add it to its allowed hosts")


def preflight(requested: bytes) -> HttpResponse:
    """Return the permission for a web page to send what it is about to send."""
    extra = (
        b"access-control-allow-methods: POST, GET\r\n"
        b"access-control-allow-headers: %b\r\n"
        b"access-control-max-age: 86400\r\n" % (requested or b"content-type")
    )
    return HttpResponse(204, b"", b"", extra)


def accepts_gzip(header: bytes | None) -> bool:
    """Tell whether an `Accept-Encoding` header asks for gzip."""
    if header is None or b"gzip" not in (header := header.lower()):
        return False
    for item in header.split(b","):
        coding, _, weight = item.partition(b";")
        if coding.strip() == b"gzip":
            return weight.replace(b" ", b"").rstrip(b"0.") != b"q="
    return False


def gzip(body: bytes, level: int) -> bytes:
    """Compress `body`."""
    # 16 + 15: gzip's framing around the largest window. Unlike gzip.compress, this never asks for the time.
    compressor = zlib.compressobj(level, zlib.DEFLATED, 31)
    return compressor.compress(body) + compressor.flush()


def compressed(reply: HttpResponse, level: int) -> HttpResponse:
    """Return the reply with its body as gzip."""
    extra = reply.extra + b"content-encoding: gzip\r\nvary: accept-encoding\r\n"
    return HttpResponse(reply.status, reply.content_type, gzip(reply.body, level), extra)
