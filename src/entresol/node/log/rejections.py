"""Log requests that the server rejects, at a limited rate."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Final

from entresol.node.log.entries import RejectionsSuppressed, RequestRejected

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.node.log.entries import LogFormat
    from entresol.server.handler import ClientConnection
    from entresol.server.responses import HttpResponse

WINDOW_SECONDS: Final = 1.0
MAX_LOGGED: Final = 20
"""How many rejections of one window are logged one by one; the rest are counted."""


class RejectionLog:
    """Logs the first rejections of each second, and then how many more there were.

    Otherwise a client could fill the disk that holds the log, by a flood of bad requests.

    Remembers: when the window ends, and the rejections in it. Persists: nothing. Assumes: an event loop.
    Fails: never.
    """

    def __init__(
        self, log_format: LogFormat, write: Callable[[str], None], layer: str = ""
    ) -> None:
        self._format = log_format
        self._write = write
        self._layer = layer
        self._end = 0.0
        self._count = 0
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self, response: HttpResponse, connection: ClientConnection) -> None:
        """Log or count a rejection."""
        now = monotonic()
        if now >= self._end:
            self.step()
            self._end = now + WINDOW_SECONDS
        self._count += 1
        if self._count <= MAX_LOGGED:
            entry = RequestRejected(response.status, response.reason, connection.peer, self._layer)
            self._write(self._format.rejection(entry))
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._end - now, self.step)

    def step(self) -> None:
        """Log how many rejections were suppressed, and end the window."""
        suppressed, self._count = self._count - MAX_LOGGED, 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if suppressed > 0:
            self._write(self._format.suppressed(RejectionsSuppressed(suppressed, self._layer)))
