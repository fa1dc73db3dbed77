"""A node of a cluster: who takes over, and who does not."""

from __future__ import annotations

from contextlib import closing
from typing import Any, cast

import asyncpg

from entresol.errors import StoreFull
from entresol.replication.postgres.lease import HeldLease
from entresol.replication.postgres.member import Member
from tests.support.chain import dev_chain
from tests.support.cluster.database import EmptyCluster, play
from tests.support.cluster.postgres import Postgres


class Eager(Member):
    """A member that notes when it would produce."""

    took_over = 0

    async def _produce(self, _connection: asyncpg.Connection[Any], _held: HeldLease) -> Exception:
        self.took_over += 1
        return Exception("the test has seen it")


def test_a_node_whose_store_has_failed_takes_over_once_that_is_over(postgres: Postgres) -> None:
    async def scenario(cluster: EmptyCluster) -> None:
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

    play(postgres, scenario)
