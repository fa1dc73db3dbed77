"""Connections over a Unix socket: JSON documents one after another, as geth and anvil exchange them."""

from __future__ import annotations

import asyncio
import contextlib
import math
import re
import socket
import stat
from pathlib import Path
from time import perf_counter
from typing import Final

from entresol.errors import SocketUnavailable
from entresol.server.protocol import DuplexConnection
from entresol.server.responses import NO_CONNECTION_LEFT, TEXT, TIMED_OUT, HttpResponse
from entresol.server.server_state import ServerState

MAX_TOKENS: Final = 2_048
"""Brackets, quotes and escapes that are read at once: they take some 0.5 ms."""

_SPACE: Final = b" \t\r\n"
_OPENING: Final = b"{["
_QUOTE, _ESCAPE = ord('"'), ord("\\")
_find_in_document: Final = re.compile(rb'["{}\[\]]').search
_find_in_string: Final = re.compile(rb'["\\]').search

_TOO_MUCH_UNREAD: Final = HttpResponse(1008, TEXT, b"too much unread", reason="too much unread")


class MalformedStreamError(ValueError):
    """The input is neither an object nor an array, so that its end is not known."""


class DocumentSplitter:
    """Finds where documents end by counting brackets; what is within them is for the parser of the handler.

    Remembers: what was received, and how far it was read.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._buffer = bytearray()
        self._position = 0
        self._depth = 0
        self._in_string = False
        self._is_exhausted = True

    def __len__(self) -> int:
        """Return the number of bytes that are in no document yet."""
        return len(self._buffer)

    @property
    def has_unread(self) -> bool:
        """Whether `next_document` may find one without further bytes."""
        return not self._is_exhausted

    def receive(self, data: bytes) -> None:
        """Add bytes."""
        self._buffer += data
        self._is_exhausted = False

    def next_document(self) -> bytes | None:
        """Read some bytes, and return the document that ends there; None if there is none so far."""
        if not self._depth and not self._find_start():
            return None
        for _ in range(MAX_TOKENS):
            find = _find_in_string if self._in_string else _find_in_document
            found = find(self._buffer, self._position)
            if found is None:
                self._position = max(self._position, len(self._buffer))
                self._is_exhausted = True
                return None
            self._read(found.start())
            if not self._depth:
                return self._take()
        return None

    def _find_start(self) -> bool:
        del self._buffer[: len(self._buffer) - len(self._buffer.lstrip(_SPACE))]
        if not self._buffer:
            self._is_exhausted = True
            return False
        if self._buffer[0] not in _OPENING:
            raise MalformedStreamError
        self._position = 0
        return True

    def _read(self, at: int) -> None:
        token = self._buffer[at]
        self._position = at + 1
        if token == _ESCAPE:
            self._position += 1
        elif token == _QUOTE:
            self._in_string = not self._in_string
        else:
            self._depth += 1 if token in _OPENING else -1

    def _take(self) -> bytes:
        with memoryview(self._buffer) as received:
            document = bytes(received[: self._position])
        del self._buffer[: self._position]
        self._position = 0
        self._is_exhausted = not self._buffer
        return document


class UnixPath:
    """A path to listen on; what a killed process left there is replaced.

    Remembers: which file it made, so that it removes no other.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._inode: int | None = None

    def listen(self) -> socket.socket:
        """Return a socket that listens on the path."""
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._remove_stale()
            bound.bind(str(self._path))
            # Nobody can connect before it listens.
            self._path.chmod(stat.S_IRUSR | stat.S_IWUSR)
            bound.listen()
            self._inode = self._path.stat().st_ino
        except OSError as error:
            bound.close()
            problem = error.strerror or str(error)
            raise SocketUnavailable(str(self._path), problem) from error
        except SocketUnavailable:
            bound.close()
            raise
        return bound

    def remove(self) -> None:
        """Remove the file, if it is still ours."""
        with contextlib.suppress(OSError):
            if self._path.stat().st_ino == self._inode:
                self._path.unlink()
        self._inode = None

    def _remove_stale(self) -> None:
        try:
            mode = self._path.stat().st_mode
        except FileNotFoundError:
            return
        if not stat.S_ISSOCK(mode):
            raise SocketUnavailable(str(self._path), "a file that is not a socket")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(str(self._path))
            except OSError:
                self._path.unlink()
                return
        raise SocketUnavailable(str(self._path), "in use by another process")


class IpcConnection(DuplexConnection):
    """Serves one client of the Unix socket, within the limits of a WebSocket.

    Remembers: bytes beyond the requests that may run at once. Assumes: the handler limits its own time. Fails: by an
    error document, then by closing.
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
