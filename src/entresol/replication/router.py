"""Route the calls of a replica: serve them here, or by the process upstream."""

from __future__ import annotations

from enum import Enum, auto
from itertools import product
from typing import Final, Protocol

from entresol.rpc.jsonrpc.forwarding import Declared, Route, Upstream
from entresol.rpc.jsonrpc.method import ServedBy

_READS: Final = (Declared(ServedBy.REPLICA), Declared(ServedBy.BLOCK))


class ReplicaState(Enum):
    """How much a process currently has of what its producer has."""

    PRODUCING = auto()
    """It is the producer: a node of a cluster that holds the lease."""
    MEMBER = auto()
    """A node of a cluster that follows the log into a store of its own."""
    WORKER = auto()
    """A worker that has applied what its producer announced, L1's gas price among it."""
    MEMBER_WORKER = auto()
    """A worker of a node of a cluster, which knows no price of L1: only the producer of the cluster observes it."""
    EDITED = auto()
    """A worker whose producer has a latest state that is in no block, as after an edit of a developer."""
    STALE = auto()
    """A worker that could not apply what its producer announced."""


def route(declared: Declared, state: ReplicaState) -> Route:
    """Return where a call is served, by what its method declares and what this process has."""
    if state is ReplicaState.PRODUCING or declared.needs_connection:
        return Route.HERE
    if state is ReplicaState.STALE:
        return Route.UPSTREAM
    match declared.served_by:
        case ServedBy.REPLICA:
            is_here = True
        case ServedBy.STORE:
            return Route.HERE_THEN_UPSTREAM
        case ServedBy.BLOCK:
            is_here = state is not ReplicaState.EDITED and not declared.names_pending
        case ServedBy.QUOTE:
            is_here = state is ReplicaState.WORKER
        case ServedBy.ESTIMATE:
            # The pending block of a producer on the same machine is near.
            is_here = state is ReplicaState.MEMBER
        case None:
            is_here = False
    return Route.HERE if is_here else Route.UPSTREAM


_ALL: Final = [
    Declared(*declared) for declared in product((*ServedBy, None), (False, True), (False, True))
]
_ROUTES: Final = {
    state: {declared: route(declared, state) for declared in _ALL} for state in ReplicaState
}
"""The whole table: a lookup takes a third of the time of the decision, which is made for each call."""
_SERVES_READS: Final = {
    state: all(route(read, state) is Route.HERE for read in _READS) for state in ReplicaState
}


class Replica(Protocol):
    """A follower of a producer."""

    @property
    def state(self) -> ReplicaState:
        """How much this process currently has of what its producer has."""


class ReplicaRouter:
    """Routes calls by what a replica has at the moment.

    Remembers: the routes of the last state. Assumes: one event loop. Fails: as the way upstream does.
    """

    def __init__(self, upstream: Upstream, replica: Replica) -> None:
        self._replica = replica
        self._state = replica.state
        self._routes = _ROUTES[self._state]
        self.forward = upstream.forward
        self.catch_up = upstream.catch_up

    def route(self, declared: Declared) -> Route:
        """Return where a call is served now."""
        state = self._replica.state
        if state is not self._state:
            self._state, self._routes = state, _ROUTES[state]
        return self._routes[declared]

    @property
    def serves_reads(self) -> bool:
        """Whether reads of blocks are served here now."""
        return _SERVES_READS[self._replica.state]

    def is_never_forwarded(self, declared: Declared) -> bool:
        """Return whether a call is served here whenever reads are."""
        return all(
            route(declared, state) is Route.HERE
            for state, serves in _SERVES_READS.items()
            if serves
        )
