"""A client with subscriptions."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from websockets.sync.client import ClientConnection

from tests.support.polling import PATIENCE_SECONDS


class Subscriber:
    """A WebSocket, its requests and its notifications."""

    def __init__(self, opened: ClientConnection) -> None:
        self._socket = opened
        self._next = 0
        self.notifications: list[Any] = []

    def __call__(self, method: str, *params: object) -> Any:
        """Return the result of a method; notifications before it are for `next`."""
        self._next += 1
        self._socket.send(
            json.dumps({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        )
        while "id" not in (message := self._receive()):
            self.notifications.append(message["params"]["result"])
        return message["result"]

    def next(self) -> Any:
        if self.notifications:
            return self.notifications.pop(0)
        return self._receive()["params"]["result"]

    def within(self, seconds: float) -> list[Any]:
        """Return the results of the notifications until none has arrived for so long."""
        with contextlib.suppress(TimeoutError):
            while True:
                message = json.loads(self._socket.recv(timeout=seconds))
                self.notifications.append(message["params"]["result"])
        found, self.notifications = self.notifications, []
        return found

    def _receive(self) -> Any:
        return json.loads(self._socket.recv(timeout=PATIENCE_SECONDS))
