"""Heads of requests that were understood before: the same client sends the same one again and again."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from entresol.rpc.server.exchange import Exchange

REMEMBERED: Final = 512
LONGEST: Final = 1024

_END: Final = b"\r\n\r\n"
_JSON: Final = b"{["


class Known(Struct, frozen=True):
    """What a head said: of how many bytes the request is, and how it is answered."""

    size: int
    path: str
    host: str
    extra: bytes
    gzip: bool


class KnownHeads:
    """Reads a request without parsing it, if its head is one that was parsed before.

    Most of the time that a short request takes would go into its headers otherwise. A head leads to the same
    answer byte for byte, so only whole requests are read like this, and only by the head's exact bytes.

    Remembers: heads of plain requests, within bounds. Persists: nothing. Assumes: what is learnt was parsed from
    the beginning of a request. Fails: never; it knows or does not.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, Known] = {}

    def __len__(self) -> int:
        return len(self._known)

    def read(self, data: bytes) -> Exchange | None:
        """Return the request that `data` is, or None if it has to be parsed."""
        end = data.find(_END) + len(_END)
        known = self._known.get(data[:end])
        if known is None or known.size != len(data) or data[end] not in _JSON:
            return None
        return Exchange(known.path, known.host, data[end:], known.extra, known.gzip)

    def learn(self, data: bytes, exchange: Exchange) -> None:
        """Remember the head of `data`, which was parsed and is nothing but `exchange`."""
        end = data.find(_END) + len(_END)
        # A body that was sent in chunks is shorter than what is on the wire.
        if end > LONGEST or len(data) - end != len(exchange.body):
            return
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        self._known[data[:end]] = Known(
            len(data), exchange.path, exchange.host, exchange.extra, exchange.gzip
        )
