"""What a router derives from the table: when the crate may respond, and to which methods."""

from __future__ import annotations

from collections.abc import Awaitable
from types import SimpleNamespace

import pytest

from entresol.replication.router import ReplicaRouter, ReplicaState
from entresol.rpc.jsonrpc.forwarding import Declared, Route
from entresol.rpc.jsonrpc.method import ServedBy
from entresol.server.handler import ClientConnection


class NoUpstream:
    """A producer that nothing is forwarded to."""

    def forward(
        self, body: bytes, connection: ClientConnection, *, waits: bool, ordered: bool
    ) -> Awaitable[bytes | None]:
        raise NotImplementedError

    def catch_up(self) -> None:
        """Do nothing."""


def router(state: ReplicaState) -> ReplicaRouter:
    return ReplicaRouter(NoUpstream(), SimpleNamespace(state=state))


@pytest.mark.parametrize("state", ReplicaState, ids=lambda it: it.name)
def test_the_crate_reads_unless_the_producer_has_what_this_process_has_not(
    state: ReplicaState,
) -> None:
    has_all = state not in {ReplicaState.EDITED, ReplicaState.STALE}
    assert router(state).serves_reads is has_all


def test_the_crate_responds_only_to_what_no_replica_forwards_while_it_serves_reads() -> None:
    found = {it for it in ServedBy if router(ReplicaState.WORKER).is_never_forwarded(Declared(it))}
    assert found == {ServedBy.REPLICA, ServedBy.BLOCK}
    assert not router(ReplicaState.WORKER).is_never_forwarded(Declared(None))


def test_a_route_follows_the_state_of_the_replica() -> None:
    replica = SimpleNamespace(state=ReplicaState.WORKER)
    followed = ReplicaRouter(NoUpstream(), replica)
    before = followed.route(Declared(ServedBy.REPLICA))
    replica.state = ReplicaState.STALE
    assert (before, followed.route(Declared(ServedBy.REPLICA))) == (Route.HERE, Route.UPSTREAM)
