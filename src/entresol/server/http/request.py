"""HTTP requests: complete ones, with what decides how their responses are framed, and heads that repeat."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import Final

import httptools
from msgspec import Struct

from entresol.primitives.bounded_map import BoundedMap
from entresol.server.handler import Page, PageResponse
from entresol.server.limits import HeldBytes
from entresol.server.responses import JSON_OK, HttpResponse, text

logger = logging.getLogger(__name__)

MAX_HEADS: Final = 512
MAX_HEAD_BYTES: Final = 1024
_END: Final = b"\r\n\r\n"
_JSON: Final = b"{["


class RequestRejectedError(Exception):
    """The connection cannot continue after `response`."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__(response.status)
        self.response = response


class HttpRequest(Struct):
    """A complete request, and how its response is framed."""

    path: str
    host: str
    body: bytes
    response_headers: bytes = b""
    gzip: bool = False
    """Whether the response may be compressed."""
    closes: bool = False
    """Whether the connection closes after the response."""
    page: Page | None = None
    rejection: HttpResponse | None = None
    without_body: bool = False
    """Whether the response has no body (`HEAD`)."""
    held: HeldBytes | None = None
    """The memory of a long body."""
    is_old: bool = False
    """Whether the client speaks HTTP/1.0, which knows no interim responses."""
    is_foreign: bool = False
    """Whether a web page of another origin sent it."""

    @property
    def is_plain(self) -> bool:
        """Whether the request goes to the handler, and the connection stays open."""
        return self.page is None and self.rejection is None and not self.closes

    def direct_response(self) -> HttpResponse | Awaitable[HttpResponse]:
        """Return the response that needs no handler: the rejection, or the requested page."""
        if self.rejection is not None:
            return self.rejection
        assert self.page is not None
        try:
            page = self.page()
        except Exception as error:  # noqa: BLE001 - logged
            return self._failed(error)
        return _page_response(page) if isinstance(page, tuple) else self._await_page(page)

    async def _await_page(self, page: Awaitable[PageResponse]) -> HttpResponse:
        try:
            return _page_response(await page)
        except Exception as error:  # noqa: BLE001 - logged
            return self._failed(error)

    def _failed(self, error: Exception) -> HttpResponse:
        logger.error("the page %s failed", self.path, exc_info=error)
        return text(500, "this page failed; the log says why")


def _page_response(page: PageResponse) -> HttpResponse:
    status, content_type, body = page
    return HttpResponse(status, content_type.encode(), body)


class WebSocketUpgrade(Struct, frozen=True):
    """A request to continue as a WebSocket."""

    target: bytes
    headers: dict[bytes, bytes]


def path_of(target: bytes) -> str:
    """Return the path in a request target, without its query."""
    if target == b"/":
        return "/"
    if not target.startswith(b"/"):
        return path_of_url(target)
    return target.partition(b"?")[0].decode("latin-1")


def path_of_url(url: bytes) -> str:
    """Return the path of a target in absolute form, as sent to a proxy."""
    try:
        path: bytes | None = httptools.parse_url(url).path
    except httptools.HttpParserInvalidURLError:
        path = url
    return (path or b"/").decode("latin-1")


def head_without_upgrade(method: bytes, target: bytes, headers: dict[bytes, bytes]) -> bytes:
    """Return the head of a request without its offer to upgrade."""
    head = b"%b %b HTTP/1.1\r\n" % (method, target)
    for name, value in headers.items():
        if name not in {b"connection", b"upgrade"}:
            head += b"%b: %b\r\n" % (name, value)
    return head + b"\r\n"


def is_json(body: bytes) -> bool:
    """Return whether the body can be a JSON object or array."""
    return body.lstrip(b" \t\r\n")[:1] in {b"{", b"["}


class CachedHead(Struct, frozen=True):
    """A request head and what parsing it gave: the request's length, and how the response is framed."""

    head: bytes
    size: int
    path: str
    host: str
    response_headers: bytes
    gzip: bool
    start: bytes
    """The response up to the length of its body."""
    is_old: bool = False
    """Whether the client speaks HTTP/1.0."""
    is_foreign: bool = False
    """Whether a web page of another origin sends it."""

    def body(self, data: bytes) -> bytes | None:
        """Return the body if `data` is a request with this head; None if it has to be parsed."""
        if len(data) != self.size or not data.startswith(self.head):
            return None
        body = data[len(self.head) :]
        return body if body[0] in _JSON else None

    def is_all_of(self, data: bytes) -> bool:
        """Return whether `data` is this head without its body."""
        return len(data) == len(self.head) < self.size

    def request(self, body: bytes) -> HttpRequest:
        """Return the request with this head and `body`."""
        return HttpRequest(
            self.path,
            self.host,
            body,
            self.response_headers,
            self.gzip,
            is_old=self.is_old,
            is_foreign=self.is_foreign,
        )


NO_HEAD: Final = CachedHead(b"", -1, "/", "", b"", gzip=False, start=b"")
"""Matches no request."""


class HeadCache:
    """Recognises requests whose head was parsed before, so that they need no parsing.

    Headers would take most of the time of a short request. A head determines the framing of the response byte for
    byte, so only whole requests are matched, and only by the head's exact bytes.

    Remembers: heads of plain requests, within bounds. Assumes: what is added was parsed from the beginning of a
    request.
    """

    def __init__(self) -> None:
        self._heads: BoundedMap[bytes, CachedHead] = BoundedMap(MAX_HEADS)

    def __len__(self) -> int:
        return len(self._heads)

    def find(self, data: bytes) -> CachedHead:
        """Return the cached head that `data` begins with, or `NO_HEAD`."""
        return self._heads.get(data[: data.find(_END) + len(_END)]) or NO_HEAD

    def add(self, data: bytes, request: HttpRequest) -> None:
        """Cache the head of `data`, which is exactly `request`."""
        end = data.find(_END) + len(_END)
        # A chunked body is shorter than its bytes on the wire.
        if end > MAX_HEAD_BYTES or len(data) - end != len(request.body):
            return
        head = data[:end]
        cached = CachedHead(
            head,
            len(data),
            request.path,
            request.host,
            request.response_headers,
            request.gzip,
            b"%b%bcontent-length: " % (JSON_OK, request.response_headers),
            request.is_old,
            request.is_foreign,
        )
        self._heads.put(head, cached)
