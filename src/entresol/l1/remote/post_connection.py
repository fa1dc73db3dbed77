"""A connection of an HTTP client: one request at a time, and a response of bounded size from a server that is not trusted."""

from __future__ import annotations

import asyncio
import zlib
from typing import Final, NamedTuple

import httptools

MAX_HEAD: Final = 64 << 10
"""How many bytes a status line and its headers may have."""
FRAMING_FACTOR: Final = 2
"""How much longer a response may be than its body: pieces with their lengths, and headers behind them."""
_FIRST_FINAL: Final = 200
"""The first status that is not informational."""
_ANY_ZLIB: Final = 32 + zlib.MAX_WBITS
"""Tells gzip from zlib by its first bytes."""


class NoResponse(Exception):  # noqa: N818  # caught where it is known what was asked for
    """The server did not respond as it should; a retry may succeed."""


class BodyTooLong(NoResponse):
    """The response is longer than it may be; a retry for less may succeed."""


class ReceivedResponse(NamedTuple):
    """What a server responded."""

    status: int
    headers: dict[bytes, bytes]
    """By their names in lower case; of several with one name, the last."""
    body: bytes


class PostConnection(asyncio.Protocol):
    """Sends requests, one after the other.

    Remembers: the response that arrives. Assumes: one request at a time; whoever gives up on one closes the connection.
    Fails: with `NoResponse`, and is closed then.
    """

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._response: asyncio.Future[ReceivedResponse] | None = None
        self._is_reusable = True
        self._begin(0)

    @property
    def is_reusable(self) -> bool:
        """Whether another request can be sent."""
        transport = self._transport
        return self._is_reusable and transport is not None and not transport.is_closing()

    async def request(self, data: bytes, max_bytes: int) -> ReceivedResponse:
        """Send a whole request, and return the response, whose body has at most `max_bytes`."""
        assert self._transport is not None
        assert self._response is None
        self._begin(max_bytes)
        self._response = asyncio.get_running_loop().create_future()
        self._transport.write(data)
        try:
            return await self._response
        finally:
            self._response = None

    def close(self) -> None:
        """Close the connection, without waiting for anything."""
        self._is_reusable = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        # uvloop's transports are no subclasses of asyncio's.
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """Take bytes of the response."""
        if self._response is None or self._response.done():
            # Nobody asked: what follows is not the response to the next request.
            self.close()
            return
        self._received += len(data)
        try:
            self._parser.feed_data(data)
            self._check_size()
        except httptools.HttpParserUpgrade:
            self._fail(NoResponse("it responded by another protocol"))
        except httptools.HttpParserError as error:
            cause = error.__context__
            failure = cause if isinstance(cause, NoResponse) else None
            self._fail(failure or NoResponse(f"it does not speak HTTP: {error}"))
        except NoResponse as error:
            self._fail(error)

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail what is incomplete; without a length a body ends here."""
        self._is_reusable = False
        if self._has_head and not self._is_framed and exc is None:
            self._complete()
            return
        self._fail(NoResponse(f"the connection was lost: {exc}" if exc else "it hung up"))

    def _begin(self, max_bytes: int) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._max_bytes = max_bytes
        self._received = 0
        self._has_head = False
        self._is_framed = False
        self._headers: dict[bytes, bytes] = {}
        self._body = bytearray()
        self._inflater: zlib._Decompress | None = None

    def _check_size(self) -> None:
        if not self._has_head and self._received > MAX_HEAD:
            raise NoResponse(f"its headers have more than {MAX_HEAD} bytes")
        if self._received > FRAMING_FACTOR * self._max_bytes + MAX_HEAD:
            raise self._too_long()

    def _fail(self, error: NoResponse) -> None:
        self.close()
        # The error leads here by its traceback, for as long as somebody has it.
        self._body = bytearray()
        if self._response is not None and not self._response.done():
            self._response.set_exception(error)

    def _complete(self) -> None:
        if self._inflater is not None and not self._inflater.eof:
            self._fail(NoResponse("its compressed body ends early"))
            return
        status = self._parser.get_status_code()
        if self._response is not None and not self._response.done():
            self._response.set_result(
                ReceivedResponse(status, dict(self._headers), bytes(self._body))
            )
        self._body = bytearray()

    # What the parser calls.

    def on_message_begin(self) -> None:
        """Give the connection up if the server has more to say than was asked for."""
        if self._response is None or self._response.done():
            self.close()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self._headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        """See how the body comes."""
        if self._parser.get_status_code() < _FIRST_FINAL:
            return
        headers = self._headers
        self._has_head = True
        self._is_framed = b"content-length" in headers or b"transfer-encoding" in headers
        length = headers.get(b"content-length", b"")
        if length.isdigit() and int(length) > self._max_bytes:
            raise self._too_long()
        encoding = headers.get(b"content-encoding", b"identity").strip().lower()
        if encoding in {b"gzip", b"x-gzip", b"deflate"}:
            self._inflater = zlib.decompressobj(_ANY_ZLIB)
        elif encoding not in {b"identity", b""}:
            raise NoResponse("its body is compressed in a way that was not offered")

    def on_body(self, piece: bytes) -> None:
        """Take a part of the body."""
        if self._inflater is None:
            self._body += piece
        else:
            # One more than there may be, so that a body that is too long is seen without being there.
            room = self._max_bytes - len(self._body) + 1
            try:
                self._body += self._inflater.decompress(piece, room)
            except zlib.error as error:
                raise NoResponse("its body is not compressed as it says") from error
        if len(self._body) > self._max_bytes:
            raise self._too_long()

    def on_message_complete(self) -> None:
        """Complete a response; an informational one is followed by another."""
        if not self._has_head:
            self._headers.clear()
            return
        self._is_reusable = self._is_reusable and self._parser.should_keep_alive()
        self._complete()

    def _too_long(self) -> BodyTooLong:
        return BodyTooLong(f"the response has more than {self._max_bytes} bytes")
