"""One HTTP connection: pipelined requests, responses in the same order, timeouts."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from time import perf_counter
from typing import Final

from entresol.server.http.parser import BODY, HEADERS, IDLE, HttpParser
from entresol.server.http.request import NO_HEAD, HttpRequest, RequestRejectedError
from entresol.server.http.responder import HttpResponder
from entresol.server.limits import READ_SECONDS
from entresol.server.protocol import MAX_HELD_WHILE_READING
from entresol.server.responses import (
    CONTINUE,
    NO_CONNECTION_LEFT,
    NO_UPGRADE_HERE,
    TIMED_OUT,
    HttpResponse,
    encode,
)
from entresol.server.server_state import ServerState

PROBE_SECONDS: Final = 0.5
"""How often it is found out whether a client that has closed its half still waits for a response."""


class HttpConnection(HttpResponder):
    """Serves one HTTP client.

    Remembers: requests that are pending behind the one in progress. Assumes: the handler limits its own time. Fails: by
    a response that says why, then by closing.
    """

    def __init__(self, state: ServerState) -> None:
        super().__init__(state)
        self._parser = HttpParser(state, self._on_request, self._on_interim)
        self._pending: deque[HttpRequest] = deque()
        self._heads = state.heads
        self._timed_phase = -1
        self._half_closed = False
        self._upgraded = False
        # Whether the next request that is parsed is served at once.
        self._direct = True
        # A cached head without its body, which many clients send next.
        self._held = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start serving, or reject a connection over the limit."""
        super().connection_made(transport)
        full = self._counters.connections_open >= self._config.connection_limit
        self._state.add(self)
        self._set_timeout(self._config.header_seconds)
        if full:
            self._counters.connections_rejected += 1
            self._report_rejection(NO_CONNECTION_LEFT)
            self.write(encode(NO_CONNECTION_LEFT))
            self._hang_up()

    def data_received(self, data: bytes) -> None:
        """Serve the requests in `data`, from the head cache if it has them."""
        self._counters.bytes_received += len(data)
        if self._held:
            data, self._held = self._held + data, b""
            self._set_timeout(self._config.idle_seconds)
        head = self._last_head
        body = head.body(data)
        if body is not None:
            self._serve_cached(head, body)
            return
        was_ready = head is not NO_HEAD
        self._last_head = NO_HEAD
        if self._lingering:
            return
        is_new = was_ready or (self._parser.is_at_start and not self._busy())
        head = self._heads.find(data) if is_new else NO_HEAD
        body = head.body(data)
        if was_ready and head is not NO_HEAD:
            self.path, self.host, self.is_foreign = head.path, head.host, head.is_foreign
            self._last_head = head
        if body is None and head.is_all_of(data):
            self._held = data
            self._set_timeout(self._config.body_seconds)
        elif body is None:
            self._last_head = NO_HEAD
            self._receive(data)
        elif was_ready:
            self._serve_cached(head, body)
        else:
            self._direct = True
            self._on_request(head.request(body))
            if self._is_ready():
                self._last_head = head
            self._set_deadline()

    def _receive(self, data: bytes) -> None:
        """Serve the first request in `data` now, and others in later turns of the event loop."""
        busy = self._busy()
        self._parser.receive(data)
        if not busy:
            self._parse_piece()
            if self._parser.phase == BODY and self._parser.unparsed:
                self._parse_piece()
        if self._has_backlog():
            self._serve_later(self._parser.unparsed)
        elif self._parser.phase == BODY and len(data) > MAX_HELD_WHILE_READING:
            # What comes next of a long body has to wait for its turn.
            self._serve_later(len(data))

    def _parse_piece(self) -> None:
        self._direct = True
        try:
            rest = self._parser.parse_piece()
        except RequestRejectedError as rejected:
            self._reject(rejected.response)
            return
        if rest is not None:
            self._upgrade(rest)
        elif not self._has_backlog():
            self._set_deadline_of_phase()

    def serve_backlog(self, until: float) -> bool:
        """Serve pending requests, and parse more of them, for a slice of time."""
        while self._has_backlog() and self._task is None and not self._write_paused:
            if self._pending:
                self._serve(self._pending.popleft())
            else:
                self._parse_piece()
            if perf_counter() >= until and self._has_backlog():
                # What is received in the same turn would only wait here.
                self._pause_reading()
                return True
        self._queued = False
        if not self._transport.is_closing() and not self._upgraded:
            self._continue()
        return False

    def eof_received(self) -> bool:
        """Stay open for responses in progress: the client may only have closed its half."""
        self._half_closed = True
        self._last_head = NO_HEAD
        if self._task is not None:
            self._loop.call_later(PROBE_SECONDS, self._probe)
        return self._busy()

    def _probe(self) -> None:
        """Send something to a client that has closed its half: one that is gone resets the connection."""
        if self._transport.is_closing() or self._task is None:
            return
        if self._takes_interim:
            self.write(CONTINUE)
        self._loop.call_later(PROBE_SECONDS, self._probe)

    def connection_lost(self, exc: Exception | None) -> None:
        """Drop pending requests. A handler in progress finishes, since it may be changing state."""
        self._drop_backlog()
        self._parser.close()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Stop reading requests, because the client does not read responses."""
        self._last_head = NO_HEAD
        self._timed_phase = -1
        super().pause_writing()

    def resume_writing(self) -> None:
        """Continue with pending requests."""
        self._write_paused = False
        self._continue()

    def expire(self) -> None:
        """Close a connection that exceeded its time, with a response if a request had begun."""
        if self._lingering or self._write_paused:
            self._transport.abort()
        elif self._held:
            self._reject(TIMED_OUT)
        elif self._parser.phase == IDLE and self._is_active:
            self._is_active = False
            self._set_timeout(self._config.idle_seconds)
        elif self._parser.phase == IDLE:
            self._close()
        else:
            self._reject(TIMED_OUT)

    def stop(self) -> None:
        """Close as soon as the responses in progress are sent."""
        self._last_head = NO_HEAD
        if not self._busy() and self._parser.phase == IDLE and not self._held:
            self._close()

    def abort(self) -> None:
        """Close now."""
        self._last_head = NO_HEAD
        self._drop_backlog()
        if self._task is not None:
            self._task.cancel()
        self._transport.abort()

    def _busy(self) -> bool:
        return self._task is not None or self._has_backlog()

    def _has_backlog(self) -> bool:
        return bool(self._pending) or self._parser.unparsed > 0

    def _drop_backlog(self) -> None:
        self._pending.clear()
        self._parser.discard()
        self._held = b""

    def _is_ready(self) -> bool:
        """Whether the next request can be served at once, without counting it against a rate."""
        ends = self._lingering or self._half_closed or self._state.stopping
        return not (self._busy() or self._write_paused or ends) and self._rate is None

    def _set_deadline_of_phase(self) -> None:
        phase = self._parser.phase
        if phase != self._timed_phase or phase == IDLE:
            self._set_deadline()

    def _set_deadline(self) -> None:
        phase = self._timed_phase = self._parser.phase
        if self._lingering or self._write_paused:
            return
        if phase == HEADERS:
            self._set_timeout(self._config.header_seconds)
        elif phase == BODY:
            self._set_timeout(self._config.body_seconds)
        elif self._task is not None:
            self.deadline = math.inf
        elif self._state.stopping:
            self._close()
        else:
            self._set_timeout(self._config.idle_seconds)

    def _on_request(self, request: HttpRequest) -> None:
        self._timed_phase = -1
        if self._direct and self._task is None and not self._pending and not self._write_paused:
            self._direct = False
            self._serve(request)
        else:
            self._pending.append(request)
            if not self._write_paused:
                self.deadline = math.inf

    def _on_interim(self, data: bytes) -> None:
        # Behind a request in progress it would seem to belong to that one; clients go on without it.
        if not self._busy():
            self.write(data)

    def _continue(self) -> None:
        """Continue with the backlog or with reading, after a response or after the client has read."""
        if self._write_paused or self._task is not None:
            if self._has_backlog():
                self._pause_reading()
            return
        if self._has_backlog():
            self._serve_later(self._parser.unparsed)
            return
        if self._half_closed or (self._state.stopping and not self._lingering):
            self._close()
            return
        self._set_deadline_of_phase()
        if self._parser.phase == BODY and not self._reading:
            self._state.backlogs.charge(READ_SECONDS)
        self._resume_reading()

    def _reject(self, response: HttpResponse) -> None:
        """Send `response` in turn as the last one, and wait for the client to read it."""
        headers = self._state.origins.headers(None) + b"connection: close\r\n"
        request = HttpRequest("/", "", b"", headers, closes=True, rejection=response)
        # What follows cannot be parsed.
        self._parser.abandon()
        self._held = b""
        self._last_head = NO_HEAD
        self._lingering = True
        if self._write_paused:
            self._pending.append(request)
        elif self._busy():
            self._pending.append(request)
            self.deadline = math.inf
        else:
            self._serve(request)

    def _hang_up(self) -> None:
        """End our half after the last response, and let the client close."""
        if self._half_closed or self.closing:
            self._close()
            return
        self._drop_backlog()
        self._end_writing()

    def _close(self) -> None:
        """Close after what is written; a client that does not read it is disconnected in time."""
        self._drop_backlog()
        self._transport.close()
        self._linger()

    def _linger(self) -> None:
        self._last_head = NO_HEAD
        super()._linger()

    def _upgrade(self, rest: bytes) -> None:
        """Continue as a WebSocket, whose first bytes are `rest`."""
        upgrade = self._parser.upgrade
        assert upgrade is not None
        if self._busy() or self._write_paused:
            self._reject(NO_UPGRADE_HERE)
            return
        # Some 9 ms of a start, and many a node never has a WebSocket.
        from entresol.server.websocket import WebSocketConnection, handshake  # noqa: PLC0415

        result = handshake(upgrade, self._state.origins)
        self.write(result.response)
        if result.rejection is not None:
            self._report_rejection(result.rejection)
            self._hang_up()
            return
        self._upgraded = True
        self._resume_reading()
        websocket = WebSocketConnection(self._state, upgrade)
        self._state.replace(self, websocket)
        websocket.on_close(self._close_callbacks.run)
        websocket.take_over(self._transport, rest)
