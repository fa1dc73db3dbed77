"""Files that the server serves from memory, with their compressed form and an entity tag."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Final, Self, TypeAlias

from msgspec import Struct

from entresol.server.responses import HttpResponse, accepts_gzip, gzip

GZIP_LEVEL: Final = 9
"""A file is compressed once, and sent often."""
HTML: Final = "text/html"
_NOT_MODIFIED: Final = 304


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
            % (
                self.headers,
                self.etag,
            )
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
