"""The client whose request is being served, as what serves it sees it."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final
from weakref import ref

if TYPE_CHECKING:
    from entresol.server.handler import ClientConnection

# A weak reference: tasks that a request starts keep its context, and may outlive its connection by far.
_CLIENT: Final[ContextVar[ref[ClientConnection] | None]] = ContextVar("client", default=None)


def serve(connection: ClientConnection) -> None:
    """Let this turn of the event loop, and the tasks that it starts, be for the client of a connection."""
    _CLIENT.set(ref(connection))


def current_client() -> ClientConnection | None:
    """Return the connection of the client that is served; None if the node works for itself, or the client is gone."""
    client = _CLIENT.get()
    return None if client is None else client()
