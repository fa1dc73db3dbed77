"""Where a call of a replica is served: the one place that decides what is forwarded."""

from __future__ import annotations

from enum import Enum, auto

from entresol.rpc.jsonrpc.forwarding import Declared, Route
from entresol.rpc.jsonrpc.method import ServedBy


class ReplicaState(Enum):
    """What a process has at the moment of what its producer has."""

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
        case ServedBy.PRODUCER | None:
            is_here = False
    return Route.HERE if is_here else Route.UPSTREAM
