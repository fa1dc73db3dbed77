"""A request that has arrived, and how its answer is to be framed."""

from __future__ import annotations

import logging

from msgspec import Struct

from entresol.server import responses
from entresol.server.connection import Page
from entresol.server.responses import HttpResponse

logger = logging.getLogger(__name__)


class HttpRequest(Struct):
    """A request that has arrived whole, and how its answer is to be framed."""

    path: str
    host: str
    body: bytes
    extra: bytes = b""
    gzip: bool = False
    last: bool = False
    page: Page | None = None
    rejection: HttpResponse | None = None
    without_body: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether the handler answers it and the connection goes on."""
        return self.page is None and self.rejection is None and not self.last

    def own_reply(self) -> HttpResponse:
        """Return the answer that needs no handler: the rejection, or the page that is asked for."""
        if self.rejection is not None:
            return self.rejection
        assert self.page is not None
        try:
            status, content_type, body = self.page()
        except Exception:
            logger.exception("the page %s failed", self.path)
            return responses.text(500, "this page failed; the log says why")
        return HttpResponse(status, content_type.encode(), body)
