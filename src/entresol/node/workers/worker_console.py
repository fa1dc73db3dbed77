"""The console of a worker: its lines go to the producer, which alone writes to the terminal."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from entresol.replication.workers.messages import WorkerMessage

if TYPE_CHECKING:
    import asyncio

    from entresol.node.log.console import FormatText
    from entresol.replication.workers.channel import Channel

MAX_UNSENT_BYTES: Final = 1 << 20
"""Lines are dropped while the producer has not taken so many bytes."""


class WorkerConsole:
    """Sends lines to the producer, from any thread.

    Remembers: nothing. Persists: nothing. Assumes: the event loop runs until `close`. Fails: never; lines are dropped.
    """

    def __init__(self, channel: Channel, loop: asyncio.AbstractEventLoop) -> None:
        self._channel = channel
        self._loop = loop
        self._thread = threading.get_ident()
        self._is_closed = False

    def write(self, text: str, *, to_stderr: bool = False) -> None:
        """Send `text`."""
        payload = bytes([WorkerMessage.LOG, to_stderr]) + text.encode(errors="replace")
        if threading.get_ident() == self._thread:
            self._send(payload)
        elif not self._is_closed:
            self._loop.call_soon_threadsafe(self._send, payload)

    def write_later(self, format_text: FormatText, size: int) -> None:  # noqa: ARG002  # sent at once
        """Send what `format_text` returns."""
        text = format_text()
        if text is not None:
            self.write(text)

    def close(self) -> None:
        """Send nothing more."""
        self._is_closed = True

    def _send(self, payload: bytes) -> None:
        if not self._is_closed and self._channel.unsent_bytes < MAX_UNSENT_BYTES:
            self._channel.send(payload)
