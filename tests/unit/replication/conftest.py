"""A cluster's database with its tables."""

from __future__ import annotations

import asyncio

import pytest

from entresol.replication.postgres import tables
from tests.support.cluster.postgres import EmptyCluster, Postgres


@pytest.fixture
def cluster(postgres: Postgres) -> EmptyCluster:
    created = EmptyCluster(postgres.new_database())

    async def create() -> None:
        async with created.connected() as connection:
            await tables.create(connection)

    asyncio.run(create())
    return created
