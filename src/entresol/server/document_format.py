"""Format of the documents that a server exchanges, and rejections in that format."""

from __future__ import annotations

from msgspec import Struct

from entresol.server.responses import JSON, HttpResponse, text

CHARSETS = (b"", b"; charset=utf-8", b";charset=utf-8")


class DocumentFormat(Struct, frozen=True, kw_only=True):
    """A protocol of JSON documents, as far as the server has to know it.

    Its errors are whole documents, so that clients read them as they read the handler's.
    """

    name: str
    """What clients post, for messages to people."""
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
