"""Clients of a worker that its producer pushes documents to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable


class RemoteClient:
    """A WebSocket of a worker, as a handler of the producer sees it."""

    transport: Final = "ws"
    peer: Final = "worker"
    host: Final = ""

    def __init__(self, clients: RemoteClients, number: int, path: str) -> None:
        self.number = number
        self.path = path
        self.closed = False
        self.callbacks: list[Callable[[], object]] = []
        self._clients = clients

    def send(self, data: bytes) -> bool:
        """Push a document through the worker."""
        return not self.closed and self._clients.push(self.number, data)

    def outbox(self) -> Self:
        """Return itself: such a client is another node, which knows what it is sent."""
        return self

    def disconnect(self, reason: str) -> None:
        """Ignore the reason: a worker limits its own clients."""

    def on_close(self, callback: Callable[[], object]) -> None:
        """Call `callback` when the client or its worker is gone."""
        if self.closed:
            callback()
            return
        self.callbacks.append(callback)
        self._clients.watch(self)


class RemoteClients:
    """The clients of one worker whose end has a callback.

    Remembers: those clients. Persists: nothing. Assumes: the worker reports a client's end after its last request.
    Fails: never.
    """

    def __init__(self, push: Callable[[int, bytes], bool]) -> None:
        self.push = push
        """Push a document to the client with a number, and return whether the worker takes it."""
        self._watched: dict[int, RemoteClient] = {}

    def __len__(self) -> int:
        return len(self._watched)

    def get(self, number: int, path: str) -> RemoteClient:
        """Return the client with a number; the worker gives no number twice."""
        return self._watched.get(number) or RemoteClient(self, number, path)

    def watch(self, client: RemoteClient) -> None:
        """Note a client until its end."""
        self._watched[client.number] = client

    def close(self, number: int) -> None:
        """Note the end of a client."""
        client = self._watched.pop(number, None)
        if client is not None:
            client.closed = True
            for callback in client.callbacks:
                callback()

    def close_all(self) -> None:
        """Note the end of the worker."""
        for number in tuple(self._watched):
            self.close(number)
