"""Telling of requests that were rejected before any handler saw them, and of a flood in few words."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Final

from entresol.node.log.entries import MoreRejected, RequestRejected

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.node.log.entries import LogFormat
    from entresol.server.handler import ClientConnection
    from entresol.server.responses import HttpResponse

SPAN_SECONDS: Final = 1.0
TOLD: Final = 20
"""How many rejections of one span are told one by one; the rest is a number."""


class RejectionLog:
    """Hears of rejections, tells the first of each second, and then how many more there were.

    Whoever floods the node with bad requests would else fill the disk that its log is kept on.

    Remembers: when the span began, and what was left out in it. Persists: nothing. Assumes: an event loop.
    Fails: never.
    """

    def __init__(self, lines: LogFormat, tell: Callable[[str], None], layer: str = "") -> None:
        self._lines = lines
        self._tell = tell
        self._layer = layer
        self._end = 0.0
        self._heard = 0
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self, response: HttpResponse, connection: ClientConnection) -> None:
        """Take note of a rejection."""
        now = monotonic()
        if now >= self._end:
            self.step()
            self._end = now + SPAN_SECONDS
        self._heard += 1
        if self._heard <= TOLD:
            entry = RequestRejected(response.status, response.reason, connection.peer, self._layer)
            self._tell(self._lines.rejected(entry))
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._end - now, self.step)

    def step(self) -> None:
        """Tell how many were left out, and begin anew."""
        left_out, self._heard = self._heard - TOLD, 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if left_out > 0:
            self._tell(self._lines.more_rejected(MoreRejected(left_out, self._layer)))
