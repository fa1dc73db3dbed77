"""The tables of a cluster and their version."""

from __future__ import annotations

import asyncio

import pytest

from entresol.errors import InvalidConfig
from entresol.replication.postgres import tables
from entresol.replication.postgres.connection import ClusterAddress, ClusterDatabase
from entresol.replication.postgres.lease import read_lease
from entresol.storage.tables import START
from tests.support.cluster.database import LEASE_SECONDS, EmptyCluster, play
from tests.support.cluster.postgres import Postgres


def test_creating_the_tables_again_changes_nothing(postgres: Postgres) -> None:
    async def scenario(cluster: EmptyCluster) -> None:
        async with cluster.connected() as connection:
            await cluster.writer(connection)
            await tables.create(connection)
            assert await connection.fetchval("select epoch from lease") == 1
            await tables.check(connection)

    play(postgres, scenario)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("update version set number = 1", "format 1, and this version reads format"),
        ("drop schema entresol cascade", "run entresol cluster init"),
    ],
)
def test_tables_of_another_format_are_rejected_with_what_to_do(
    postgres: Postgres, change: str, problem: str
) -> None:
    async def scenario(cluster: EmptyCluster) -> None:
        async with cluster.connected() as connection:
            await connection.execute(change)
            with pytest.raises(InvalidConfig, match=f"--cluster: .*{problem}"):
                await tables.check(connection)

    play(postgres, scenario)


def test_tables_are_created_once_by_many_at_the_same_time(postgres: Postgres) -> None:
    async def whole() -> None:
        async def create() -> None:
            async with database.session() as connection:
                await tables.create(connection)

        await asyncio.gather(*(create() for _ in range(4)))
        async with database.session() as connection:
            assert await connection.fetchval("select count(*) from lease") == 1

    database = ClusterDatabase(ClusterAddress(postgres.new_database()), LEASE_SECONDS)
    asyncio.run(whole())


def test_a_new_log_ends_where_a_new_store_begins(postgres: Postgres) -> None:
    async def scenario(cluster: EmptyCluster) -> None:
        async with cluster.connected() as connection:
            assert (await read_lease(connection)).end == START

    play(postgres, scenario)
