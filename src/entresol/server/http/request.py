"""Complete HTTP requests, with what decides how their responses are framed."""

from __future__ import annotations

import logging
from collections.abc import Awaitable

import httptools
from msgspec import Struct

from entresol.server.handler import Page, PageResponse
from entresol.server.memory.request_bytes import HeldBytes
from entresol.server.responses import HttpResponse, text

logger = logging.getLogger(__name__)


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
