"""`LocalConnection`: the connection of a caller in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Self


class LocalConnection:
    """A `ClientConnection` without a socket: nothing can be sent to it, and it never closes."""

    transport: Final = "local"
    peer: str = "local"
    host: Final = ""
    is_foreign: bool = False
    closed: bool = False

    def __init__(self, path: str = "/") -> None:
        self.path = path

    def send(self, data: bytes) -> bool:  # noqa: ARG002 - the interface has it
        """Drop the message."""
        return False

    def outbox(self) -> Self:
        """Return what drops messages, too."""
        return self

    def disconnect(self, reason: str) -> None:
        """Ignore the reason: there is no connection."""

    def on_close(self, callback: Callable[[], object]) -> None:
        """Ignore the callback: the connection never closes."""
