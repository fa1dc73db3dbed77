"""Cache of parsed request heads: a client sends the same head with every request."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from entresol.primitives.bounded_map import BoundedMap
from entresol.server.http.request import HttpRequest
from entresol.server.responses import JSON_OK

MAX_HEADS: Final = 512
MAX_HEAD_BYTES: Final = 1024

_END: Final = b"\r\n\r\n"
_JSON: Final = b"{["


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
            self.path, self.host, body, self.response_headers, self.gzip, is_old=self.is_old
        )


NO_HEAD: Final = CachedHead(b"", -1, "/", "", b"", gzip=False, start=b"")
"""Matches no request."""


class HeadCache:
    """Recognises requests whose head was parsed before, so that they need no parsing.

    Headers would take most of the time of a short request. A head determines the framing of the response byte for
    byte, so only whole requests are matched, and only by the head's exact bytes.

    Remembers: heads of plain requests, within bounds. Persists: nothing. Assumes: what is added was parsed from
    the beginning of a request. Fails: never.
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
        )
        self._heads.put(head, cached)
