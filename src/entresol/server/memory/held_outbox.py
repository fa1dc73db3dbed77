"""Hold what is pushed to a client until the response has been written that tells the client what it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Holder(Protocol):
    """The connection of the client."""

    def send(self, data: bytes) -> bool:
        """Push a document, and return whether it was accepted."""
        ...

    def hold(self, size: int) -> bool:
        """Count bytes that are to be held, and return whether they may be."""
        ...


class HeldOutbox:
    """Holds documents until `release`, and passes them to the connection from then on.

    Remembers: the documents, as far as the connection accepts them. Persists: nothing.
    """

    __slots__ = ("_connection", "_held", "send", "size")

    def __init__(self, connection: Holder) -> None:
        self._connection = connection
        self._held: list[bytes] = []
        self.size = 0
        """How many bytes are held."""
        # Replaced by the connection's own, which takes no call more.
        self.send: Callable[[bytes], bool] = self._hold

    def release(self) -> None:
        """Send what is held, in order."""
        self.send = self._connection.send
        held, self._held = self._held, []
        for data in held:
            self.send(data)

    def _hold(self, data: bytes) -> bool:
        if not self._connection.hold(len(data)):
            return False
        self._held.append(data)
        self.size += len(data)
        return True
