"""One IPC connection: JSON documents in, responses and pushed documents out, each on a line."""

from __future__ import annotations

import asyncio
import math
from time import perf_counter
from typing import Final

from entresol.server.duplex import DuplexConnection
from entresol.server.ipc.document_splitter import DocumentSplitter, MalformedStreamError
from entresol.server.responses import (
    NO_CONNECTION_LEFT,
    TEXT,
    TIMED_OUT,
    HttpResponse,
)
from entresol.server.server_state import ServerState

_TOO_MUCH_UNREAD: Final = HttpResponse(1008, TEXT, b"too much unread", reason="too much unread")


class IpcConnection(DuplexConnection):
    """Serves one client of the Unix socket, within the limits of a WebSocket.

    Remembers: bytes beyond the requests that may run at once. Persists: nothing.
    Assumes: the handler limits its own time. Fails: by an error document, then by closing.
    """

    transport: Final = "ipc"
    path: Final = "/"
    host: Final = ""
    is_foreign: Final = False

    def __init__(self, state: ServerState) -> None:
        super().__init__(state)
        self._splitter = DocumentSplitter()

    @property
    def peer(self) -> str:
        """Return how the client is connected, since a Unix socket has no addresses of clients."""
        return self.transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start serving, or reject a connection over the limit."""
        super().connection_made(transport)
        is_full = self._counters.connections_open >= self._config.connection_limit
        self._state.add(self)
        if is_full:
            self._counters.connections_rejected += 1
            self._report_rejection(NO_CONNECTION_LEFT)
            self._close()

    def send(self, data: bytes) -> bool:
        """Push a document, and return whether it was accepted."""
        if self.closed or self._lingering or self._transport.is_closing():
            return False
        unsent = self._transport.get_write_buffer_size()
        # One document of any size is sent, so that a small limit does not make a large response impossible.
        if unsent and unsent + len(data) > self.queue_bytes:
            self._report_rejection(_TOO_MUCH_UNREAD)
            self.abort()
            return False
        self.write(data + b"\n")
        return True

    def data_received(self, data: bytes) -> None:
        """Serve the first document in `data` now, and others in later turns of the event loop."""
        self._counters.bytes_received += len(data)
        if self._lingering:
            return
        self._splitter.receive(data)
        if not self._queued and not self._is_full():
            self._serve_next()
        if self._splitter.has_unread:
            self._serve_later(len(self._splitter))
        self._set_deadline()

    def serve_backlog(self, until: float) -> bool:
        """Serve the documents that were received, for a slice of time; return whether there are more."""
        while not self._is_full() and self._splitter.has_unread:
            self._serve_next()
            if perf_counter() >= until and self._splitter.has_unread:
                # What is received in the same turn would only wait here.
                self._pause_reading()
                return True
        self._queued = False
        if not self._transport.is_closing():
            self._continue()
        return False

    def eof_received(self) -> bool:
        """Stay open for responses in progress: the client may only have closed its half."""
        self._stopping = bool(self._tasks)
        return self._stopping

    def connection_lost(self, exc: Exception | None) -> None:
        """Drop the backlog. Handlers in progress finish, since they may be changing state."""
        self._splitter.clear()
        self._incoming = None
        super().connection_lost(exc)

    def resume_writing(self) -> None:
        """Continue with the backlog."""
        self._write_paused = False
        self._set_deadline()
        self._continue()

    def expire(self) -> None:
        """Close a connection whose client does not read, or does not end what it sends."""
        if self._lingering or self._write_paused:
            self._transport.abort()
        else:
            self._report_rejection(TIMED_OUT)
            self._close()

    def stop(self) -> None:
        """Close as soon as the responses in progress are sent."""
        self._stopping = True
        if not self._tasks:
            self._close()

    def abort(self) -> None:
        """Close now."""
        self._splitter.clear()
        self._cancel_tasks()
        self._transport.abort()

    def _serve_next(self) -> None:
        try:
            document = self._splitter.next_document()
        except MalformedStreamError:
            self._reject(self._state.rejections.malformed)
            return
        size = len(self._splitter) if document is None else len(document)
        if size > self._config.body_limit_bytes:
            self._reject(self._state.rejections.too_large)
        elif document is None and not self._hold_incoming(size):
            self._reject(self._state.rejections.overloaded)
        elif document is not None and not self._stopping:
            self._serve(document, self.send)

    def _reject(self, response: HttpResponse) -> None:
        """Respond with an error, and close: where the next document begins is not known."""
        self._report_rejection(response)
        self.send(response.body)
        self._close()

    def _close(self) -> None:
        self._splitter.clear()
        if not self._transport.is_closing() and not self._lingering:
            self._end_writing()

    def _continue(self) -> None:
        if self._is_full():
            self._pause_reading()
        elif self._splitter.has_unread:
            self._serve_later(len(self._splitter))
        else:
            self._resume_reading()

    def _set_deadline(self) -> None:
        """Limit the time for the rest of a document; a client without one may stay."""
        if self._lingering or self._write_paused:
            return
        if not len(self._splitter):
            self.deadline = math.inf
        elif math.isinf(self.deadline):
            self._set_timeout(self._config.body_seconds)
