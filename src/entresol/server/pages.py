"""Pages and files that are served beside the documents."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Self, TypeAlias

from msgspec import Struct

from entresol.server.handler import Page, PageResponse, completed
from entresol.server.responses import HttpResponse, accepts_gzip, gzip

GZIP_LEVEL: Final = 9
"""A file is compressed once, and sent often."""
HTML: Final = "text/html"
_NOT_MODIFIED: Final = 304
PAUSE_SECONDS: Final = 0.1
"""The least time between two renderings."""
TURN_CLIENTS: Final = 16
"""How many clients get a page in one turn of the event loop: it is long, and others are served in between."""


class StaticFile(Struct, frozen=True):
    """A file, ready to be sent."""

    content_type: bytes
    body: bytes
    compressed: bytes
    etag: bytes
    headers: bytes = b""
    """Further header lines, each with its line break."""
    is_page: bool = False
    """Whether only clients that accept HTML get it, which browsers say and other clients do not."""

    @classmethod
    def of(cls, body: bytes, content_type: str, headers: bytes = b"") -> Self:
        """Return a file, compressed and tagged."""
        tag = hashlib.sha256(headers + body).hexdigest()[:32]
        return cls(
            content_type.encode(),
            body,
            gzip(body, GZIP_LEVEL),
            f'"{tag}"'.encode(),
            headers,
            content_type.startswith(HTML),
        )

    def response(self, request: Mapping[bytes, bytes]) -> HttpResponse | None:
        """Return the response to a request with these headers; None if the client does not accept the file."""
        if self.is_page and HTML.encode() not in request.get(b"accept", b""):
            return None
        # The tag is weak: it stands for the file, not for how it is compressed.
        headers = (
            b"%betag: W/%b\r\ncache-control: no-cache\r\nvary: accept, accept-encoding\r\n"
            % (self.headers, self.etag)
        )
        if self.etag in request.get(b"if-none-match", b""):
            return HttpResponse(_NOT_MODIFIED, b"", b"", headers)
        if accepts_gzip(request.get(b"accept-encoding")):
            encoding = b"content-encoding: gzip\r\n"
            return HttpResponse(200, self.content_type, self.compressed, headers + encoding)
        return HttpResponse(200, self.content_type, self.body, headers)


StaticFiles: TypeAlias = Callable[[], Mapping[str, StaticFile]]
"""Returns the files by path. It is called on the first request for one, so that a start does not wait for them."""


def no_files() -> Mapping[str, StaticFile]:
    """Return no files."""
    return {}


class SharedPage:
    """Renders a page at most ten times a second, however many clients request it.

    Requests in between get the next rendering, never an old one. Remembers: pending requests. Assumes: one event loop.
    Fails: as the page does.
    """

    def __init__(self, page: Page) -> None:
        self._page = page
        self._pending: list[asyncio.Future[PageResponse]] = []
        self._task: asyncio.Task[None] | None = None
        self._rendered_at = float("-inf")

    def __call__(self) -> PageResponse | Awaitable[PageResponse]:
        """Return the page, or an awaitable of it."""
        loop = asyncio.get_running_loop()
        pause = self._rendered_at + PAUSE_SECONDS - loop.time()
        if pause <= 0 and not self._pending:
            self._rendered_at = loop.time()
            return self._page()
        if not self._pending:
            self._task = loop.create_task(self._render_after(pause))
        pending: asyncio.Future[PageResponse] = loop.create_future()
        self._pending.append(pending)
        return pending

    async def _render_after(self, pause: float) -> None:
        await asyncio.sleep(pause)
        # A request from now on has to show what happens from now on.
        pending, self._pending = self._pending, []
        self._rendered_at = asyncio.get_running_loop().time()
        try:
            outcome = await completed(self._page())
        except Exception as error:  # noqa: BLE001 - it is that of all pending requests
            _finish(pending, error)
        else:
            _finish(pending, outcome)


def _finish(pending: list[asyncio.Future[PageResponse]], outcome: PageResponse | Exception) -> None:
    """Pass an outcome on, turn by turn."""
    for future in pending[:TURN_CLIENTS]:
        if future.done():
            continue
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
    if len(pending) > TURN_CLIENTS:
        asyncio.get_running_loop().call_soon(_finish, pending[TURN_CLIENTS:], outcome)
