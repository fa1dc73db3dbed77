"""What a method may know of the connection that its call came over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Connection(Protocol):
    """One client, for as long as it stays; a method asks for it by annotating a parameter."""

    @property
    def transport(self) -> str:
        """How the client is connected: `http`, `ws` or `local`."""

    @property
    def peer(self) -> str:
        """Return the client's address, for logs."""

    @property
    def path(self) -> str:
        """Return the path of the URL that was asked for; `/` if there is none."""

    def send(self, data: bytes) -> object:
        """Send a message that answers no call; what it returns is nobody's business here."""

    def on_close(self, callback: Callable[[], None]) -> None:
        """Have `callback` called once the client is gone."""


class LocalConnection:
    """A caller in this process: nothing can be sent to it, and it never leaves."""

    transport = "local"
    peer = "local"

    def __init__(self, path: str = "/") -> None:
        self.path = path

    def send(self, data: bytes) -> None:
        """Drop the message: nobody listens."""

    def on_close(self, callback: Callable[[], None]) -> None:
        """Forget the callback: the caller outlives the node."""
