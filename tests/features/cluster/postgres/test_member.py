"""A node of a cluster: its role, and its reports."""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import Any, cast

import asyncpg

from entresol.errors import StoreFull
from entresol.features.cluster.postgres.lease import HeldLease
from entresol.features.cluster.postgres.member import Member, Membership
from tests.support.chain import dev_chain
from tests.support.cluster.postgres import EmptyCluster

LONG_SECONDS = 60.0


class Eager(Member):
    """A member that notes when it would produce."""

    took_over = 0

    async def _produce(self, _connection: asyncpg.Connection[Any], _held: HeldLease) -> Exception:
        self.took_over += 1
        return Exception("the test has seen it")


async def test_a_node_whose_store_has_failed_takes_over_once_that_is_over(
    cluster: EmptyCluster,
) -> None:
    chain = dev_chain.open_chain()
    with closing(chain):
        unused = cast("Any", None)
        member = Eager(chain, unused, cluster.database, unused, takes_over=True)
        database = chain.ledger.store._db
        async with cluster.connected() as connection:
            database.failure = StoreFull(chain.blocks.path)
            assert not await member._step(connection)
            assert member.took_over == 0
            database.failure = None
            assert await member._step(connection)
            assert member.took_over == 1


async def test_an_id_that_is_not_known_is_asked_for_at_once() -> None:
    members = Membership()
    waiting = asyncio.ensure_future(members.wait(LONG_SECONDS))
    await asyncio.sleep(0)
    assert "a" not in members
    await waiting
    members.update(frozenset({"a"}))
    assert "a" in members
