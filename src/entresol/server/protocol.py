"""What every connection is, whatever it speaks: a client, a deadline, and reading only while answers flow."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import cast

from entresol.server.connection import CloseCallbacks, Connection
from entresol.server.responses import HttpResponse
from entresol.server.state import ServerState, address_of


class ClientProtocol(asyncio.Protocol):
    """One client's connection, as far as it does not matter which protocol it speaks.

    `_clogged` says that the client does not read, `_lingering` that all is said and the client is to close.
    """

    def __init__(self, service: ServerState) -> None:
        self._service = service
        self._config = service.config
        self._counters = service.counters
        self._handler = service.handler
        self._loop = service.loop
        self._rate = service.rate()
        self._closing = CloseCallbacks()
        self._transport: asyncio.Transport
        self._reading = True
        self._clogged = False
        self._lingering = False
        self.deadline = math.inf

    @property
    def peer(self) -> str:
        """Return the client's address."""
        return address_of(self._transport)

    @property
    def closed(self) -> bool:
        """Tell whether the client is gone."""
        return self._closing.closed

    def on_close(self, callback: Callable[[], object]) -> None:
        """Call `callback` once when the client is gone."""
        self._closing.add(callback)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        # uvloop's transports are no subclasses of asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Forget the client."""
        self._service.leave(self)
        self._closing.run()

    def pause_writing(self) -> None:
        """Take no more requests, because the client does not read."""
        self._clogged = True
        self._pause_reading()
        self._allow(self._config.write_seconds)

    def expire(self) -> None:
        """Do what is due when the client has taken too long."""
        raise NotImplementedError

    def stop(self) -> None:
        """Close as soon as the answers under way are sent."""
        raise NotImplementedError

    def abort(self) -> None:
        """Close now, and cancel what is under way."""
        raise NotImplementedError

    def _allow(self, seconds: float) -> None:
        """Give the client so much time from now on."""
        self.deadline = self._loop.time() + seconds

    def _write(self, data: bytes) -> None:
        self._counters.bytes_sent += len(data)
        self._transport.write(data)

    def _tell_rejection(self, reply: HttpResponse) -> None:
        """Say that a request was rejected, to whoever wants to know."""
        if self._service.on_rejection is not None:
            # Only what is derived from this class says which transport it is.
            self._service.on_rejection(reply, cast("Connection", self))

    def _pause_reading(self) -> None:
        if self._reading and not self._transport.is_closing():
            self._reading = False
            self._transport.pause_reading()

    def _resume_reading(self) -> None:
        if not self._reading and not self._transport.is_closing():
            self._reading = True
            self._transport.resume_reading()

    def _linger(self) -> None:
        self._lingering = True
        self._allow(self._config.linger_seconds)

    def _end_writing(self) -> None:
        """Say that nothing follows, and let the client close.

        Closing with unread data would reset the connection, and what was said last might never be seen.
        """
        self._transport.write_eof()
        self._resume_reading()
        self._linger()
