"""Write HTTP responses to a connection, compressed where the client accepts it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from entresol.server.config import ServerConfig
from entresol.server.http.request import HttpRequest
from entresol.server.protocol import ClientProtocol
from entresol.server.responses import JSON, JSON_OK, HttpResponse, compressed, encode

# Compressing more than this on the event loop would delay other clients, so a thread does it.
MAX_INLINE_COMPRESSION = 32 * 1024
# Copying more than this into one buffer costs more than a second write.
MAX_COPIED = 64 * 1024


class ResponseWriter:
    """Frames, compresses and writes the responses of one connection.

    A method returns an awaitable if the response is written only once a thread has compressed it.
    """

    def __init__(self, connection: ClientProtocol, config: ServerConfig) -> None:
        self._connection = connection
        self._level = config.gzip_level
        self._above_bytes = config.gzip_above_bytes

    def write_document(self, request: HttpRequest, body: bytes) -> Awaitable[None] | None:
        """Write the document `body` that the handler returned."""
        if request.gzip and self._compresses(body):
            return self.write(request, HttpResponse(200, JSON, body))
        headers, size = request.response_headers, len(body)
        if size > MAX_COPIED:
            self._connection.write(b"%b%bcontent-length: %d\r\n\r\n" % (JSON_OK, headers, size))
            self._connection.write(body)
        else:
            self._connection.write(
                b"%b%bcontent-length: %d\r\n\r\n%b" % (JSON_OK, headers, size, body)
            )
        return None

    def write(self, request: HttpRequest, response: HttpResponse) -> Awaitable[None] | None:
        """Write `response`."""
        if request.gzip and self._compresses(response.body) and not response.is_compressed:
            if len(response.body) > MAX_INLINE_COMPRESSION:
                return self._compress_and_write(request, response)
            response = compressed(response, self._level)
        self._write_framed(request, response)
        return None

    async def _compress_and_write(self, request: HttpRequest, response: HttpResponse) -> None:
        response = await asyncio.to_thread(compressed, response, self._level)
        if not self._connection.closing:
            self._write_framed(request, response)

    def _write_framed(self, request: HttpRequest, response: HttpResponse) -> None:
        self._connection.write(
            encode(response, request.response_headers, without_body=request.without_body)
        )

    def _compresses(self, body: bytes) -> bool:
        return len(body) > self._above_bytes and self._level > 0
