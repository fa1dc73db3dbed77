"""Route the calls of a replica: serve them here, or by the process upstream."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final, Protocol

from entresol.replication.route import ReplicaState, route
from entresol.rpc.jsonrpc.forwarding import Declared, Route
from entresol.rpc.jsonrpc.method import ServedBy

if TYPE_CHECKING:
    from entresol.replication.upstream import Upstream

_ALL: Final = [Declared(*it) for it in product((*ServedBy, None), (False, True), (False, True))]
_ROUTES: Final = {state: {it: route(it, state) for it in _ALL} for state in ReplicaState}
"""The whole table: a lookup takes a third of the time of the decision, which is made for each call."""
_READS: Final = (Declared(ServedBy.REPLICA), Declared(ServedBy.BLOCK))
_SERVES_READS: Final = {
    state: all(route(it, state) is Route.HERE for it in _READS) for state in ReplicaState
}


class Replica(Protocol):
    """What follows a producer."""

    @property
    def state(self) -> ReplicaState:
        """What this process has at the moment of what its producer has."""


class ReplicaRouter:
    """Routes calls by what a replica has at the moment.

    Remembers: the routes of the last state. Persists: nothing. Assumes: one event loop. Fails: as the way upstream does.
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
