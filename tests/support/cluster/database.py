"""A cluster's database with its tables, and nodes without servers on it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import asyncpg

from entresol.chain.chain import Chain
from entresol.replication.postgres.connection import ClusterAddress, ClusterDatabase
from entresol.replication.postgres.journal import ClusterJournal, LogWriter, PoolRows, read_pool
from entresol.replication.postgres.lease import take_lease
from entresol.replication.postgres.sequencer import ClusterSealer
from entresol.replication.postgres.tables import PostgresLog
from entresol.replication.shared_store import Follower

LEASE_SECONDS = 60.0
"""Longer than any test, so that a lease expires only where a test wants it."""


class EmptyCluster:
    def __init__(self, url: str) -> None:
        self.database = ClusterDatabase(ClusterAddress(url), LEASE_SECONDS)

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator[asyncpg.Connection[Any]]:
        async with self.database.session() as connection:
            yield connection

    async def writer(self, connection: asyncpg.Connection[Any], holder: str = "a") -> LogWriter:
        held = await take_lease(connection, holder, f"http://{holder}", LEASE_SECONDS)
        assert held is not None
        return LogWriter(connection, held, LEASE_SECONDS)

    async def expire(self, connection: asyncpg.Connection[Any]) -> None:
        await connection.execute("update lease set valid_until = '-infinity'")

    async def producer(
        self, connection: asyncpg.Connection[Any], chain: Chain, holder: str = "a"
    ) -> ClusterSealer:
        """Take over with a chain, as a node does, and return what seals."""
        held = await take_lease(connection, holder, f"http://{holder}", LEASE_SECONDS)
        assert held is not None
        await Follower(chain, lambda _: None).catch_up(PostgresLog(connection))
        journal = ClusterJournal(chain, LogWriter(connection, held, LEASE_SECONDS), lambda _: None)
        rows = PoolRows(chain, await read_pool(connection))
        return ClusterSealer(chain, journal, rows, LEASE_SECONDS / 3)
