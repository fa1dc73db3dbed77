"""Heads of requests that were understood before: the same client sends the same one again and again."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from entresol.server.request import HttpRequest
from entresol.server.responses import JSON_OK

REMEMBERED: Final = 512
LONGEST: Final = 1024

_END: Final = b"\r\n\r\n"
_JSON: Final = b"{["


class CachedHead(Struct, frozen=True):
    """A head, and what it says: how long the request is, and how it is answered."""

    head: bytes
    size: int
    path: str
    host: str
    extra: bytes
    gzip: bool
    start: bytes
    """The answer up to the length of its body."""

    def body(self, data: bytes) -> bytes | None:
        """Return the body if `data` is a request with this head; None if it has to be parsed."""
        if len(data) != self.size or not data.startswith(self.head):
            return None
        body = data[len(self.head) :]
        return body if body[0] in _JSON else None

    def exchange(self, body: bytes) -> HttpRequest:
        """Return the request with this head and `body`."""
        return HttpRequest(self.path, self.host, body, self.extra, self.gzip)


NOTHING: Final = CachedHead(b"", -1, "/", "", b"", gzip=False, start=b"")
"""Stands for the head of no request."""


class HeadCache:
    """Knows a request without parsing it, if its head is one that was parsed before.

    Most of the time that a short request takes would go into its headers otherwise. A head leads to the same
    answer byte for byte, so only whole requests are read like this, and only by the head's exact bytes.

    Remembers: heads of plain requests, within bounds. Persists: nothing. Assumes: what is learnt was parsed from
    the beginning of a request. Fails: never; it knows or does not.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, CachedHead] = {}

    def __len__(self) -> int:
        return len(self._known)

    def find(self, data: bytes) -> CachedHead:
        """Return what is known of the head that `data` begins with, which may be nothing."""
        return self._known.get(data[: data.find(_END) + len(_END)], NOTHING)

    def learn(self, data: bytes, exchange: HttpRequest) -> None:
        """Remember the head of `data`, which was parsed and is nothing but `exchange`."""
        end = data.find(_END) + len(_END)
        # A body that was sent in chunks is shorter than what is on the wire.
        if end > LONGEST or len(data) - end != len(exchange.body):
            return
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        head = data[:end]
        self._known[head] = CachedHead(
            head,
            len(data),
            exchange.path,
            exchange.host,
            exchange.extra,
            exchange.gzip,
            b"%b%bcontent-length: " % (JSON_OK, exchange.extra),
        )
