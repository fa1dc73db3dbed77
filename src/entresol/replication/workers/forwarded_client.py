"""Clients of a worker whose requests it forwards to its producer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.rpc.jsonrpc.connection import LocalConnection

if TYPE_CHECKING:
    from collections.abc import Callable


class ForwardedClient(LocalConnection):
    """A client of a worker, as a handler of the producer sees it: what is pushed to it, its worker pushes."""

    def __init__(self, peer: str) -> None:
        super().__init__()
        self.peer = peer
        """The address from which it has reached its worker."""
        self._callbacks: list[Callable[[], object]] = []

    def on_close(self, callback: Callable[[], object]) -> None:
        """Call `callback` when the client or its worker is gone."""
        if self.closed:
            callback()
        else:
            self._callbacks.append(callback)

    def close(self) -> None:
        """Note its end."""
        self.closed = True
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()


class ForwardedClients:
    """The clients of one worker that have sent a request which it forwards.

    Remembers: those clients. Persists: nothing. Assumes: the worker reports a client's end after its last request.
    Fails: never.
    """

    def __init__(self) -> None:
        self._clients: dict[int, ForwardedClient] = {}

    def __len__(self) -> int:
        return len(self._clients)

    def begin(self, number: int, address: str) -> None:
        """Note the address of a client that comes."""
        if number not in self._clients:
            self._clients[number] = ForwardedClient(address)

    def get(self, number: int) -> ForwardedClient:
        """Return the client with a number, the same until its end."""
        client = self._clients.get(number)
        if client is None:
            client = self._clients[number] = ForwardedClient("worker")
        return client

    def close(self, number: int) -> None:
        """Note the end of a client."""
        client = self._clients.pop(number, None)
        if client is not None:
            client.close()

    def close_all(self) -> None:
        """Note the end of the worker."""
        for number in tuple(self._clients):
            self.close(number)
