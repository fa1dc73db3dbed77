"""Which request goes where."""

from __future__ import annotations

from collections.abc import Awaitable
from itertools import product
from types import SimpleNamespace
from typing import Final

import pytest

from entresol.replication.router import ReplicaRouter, ReplicaState, route
from entresol.rpc.jsonrpc.forwarding import Declared, Route
from entresol.rpc.jsonrpc.method import ServedBy
from entresol.server.handler import ClientConnection

TABLE: Final = """
             | PRODUCING | MEMBER | WORKER | MEMBER_WORKER | EDITED | STALE
REPLICA      | here      | here   | here   | here          | here   | up
BLOCK        | here      | here   | here   | here          | up     | up
BLOCK+tag    | here      | up     | up     | up            | up     | up
STORE        | here      | absent | absent | absent        | absent | up
QUOTE        | here      | up     | here   | up            | up     | up
ESTIMATE     | here      | here   | up     | up            | up     | up
-            | here      | up     | up     | up            | up     | up
connection   | here      | here   | here   | here          | here   | here
"""
"""Where a call is served: here, upstream, or upstream if what it looks for is absent here.

`BLOCK+tag`: with parameters that may name the pending block. `-`: a method that declares nothing. `connection`: any
method that needs the connection of its client.
"""

MEANS: Final = {"here": Route.HERE, "up": Route.UPSTREAM, "absent": Route.HERE_THEN_UPSTREAM}
ALL: Final = [
    Declared(served_by, needs_connection, names_pending)
    for served_by, needs_connection, names_pending in product(
        (*ServedBy, None), (False, True), (False, True)
    )
]


class NoUpstream:
    """A producer that nothing is forwarded to."""

    def forward(
        self, body: bytes, connection: ClientConnection, *, waits: bool, ordered: bool
    ) -> Awaitable[bytes | None]:
        raise NotImplementedError

    def catch_up(self) -> None: ...


def router(state: ReplicaState) -> ReplicaRouter:
    return ReplicaRouter(NoUpstream(), SimpleNamespace(state=state))


def test_the_crate_responds_only_to_what_no_replica_forwards_while_it_serves_reads() -> None:
    found = {it for it in ServedBy if router(ReplicaState.WORKER).is_never_forwarded(Declared(it))}
    assert found == {ServedBy.REPLICA, ServedBy.BLOCK}
    assert not router(ReplicaState.WORKER).is_never_forwarded(Declared(None))


def row_of(declared: Declared) -> str:
    if declared.needs_connection:
        return "connection"
    if declared.served_by is None:
        return "-"
    has_tag = declared.served_by is ServedBy.BLOCK and declared.names_pending
    return declared.served_by.name + ("+tag" if has_tag else "")


def cells() -> dict[tuple[str, ReplicaState], Route]:
    head, *rows = (
        [cell.strip() for cell in line.split("|")] for line in TABLE.strip("\n").splitlines()
    )
    return {
        (row[0], ReplicaState[state]): MEANS[cell]
        for row in rows
        for state, cell in zip(head[1:], row[1:], strict=True)
    }


@pytest.mark.parametrize("state", ReplicaState, ids=lambda it: it.name)
@pytest.mark.parametrize("declared", ALL, ids=str)
def test_a_call_is_served_where_the_table_says(declared: Declared, state: ReplicaState) -> None:
    assert route(declared, state) is cells()[row_of(declared), state]


def test_the_table_has_every_declaration_and_every_state_and_nothing_else() -> None:
    assert cells().keys() == set(product({row_of(it) for it in ALL}, ReplicaState))
