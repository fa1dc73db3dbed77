"""Writes of a producer: one statement that fences, renews and appends."""

from __future__ import annotations

import pytest

from entresol.errors import ClusterFenced, OutcomeUnknown
from entresol.replication.postgres.journal import PoolChanges, PoolRow, read_pool
from entresol.replication.postgres.tables import read_page
from entresol.storage.log_entries import ConfirmedEntry, UnwindEntry
from entresol.storage.tables import START
from tests.support.cluster.database import EmptyCluster, play
from tests.support.cluster.postgres import Postgres

ROWS = [PoolRow(bytes([index]) * 32, bytes([index]), index) for index in range(3)]


def test_entries_have_consecutive_numbers_and_chained_digests(postgres: Postgres) -> None:
    async def scenario(cluster: EmptyCluster) -> None:
        async with cluster.connected() as connection:
            writer = await cluster.writer(connection)
            await writer.write([ConfirmedEntry(1, 0), ConfirmedEntry(2, 1)], 5)
            await writer.write([UnwindEntry(3)], 3)
            page = await read_page(connection, START)
            assert [it.position.seq for it in page] == [1, 2, 3]
            assert [it.entry for it in page] == [
                ConfirmedEntry(1, 0),
                ConfirmedEntry(2, 1),
                UnwindEntry(3),
            ]
            assert page[-1].position == writer.end
            assert await connection.fetchval("select head from lease") == 3

    play(postgres, scenario)


def test_a_producer_that_was_fenced_writes_nothing(postgres: Postgres) -> None:
    async def scenario(cluster: EmptyCluster) -> None:
        async with cluster.connected() as first, cluster.connected() as second:
            old = await cluster.writer(first)
            await cluster.expire(first)
            new = await cluster.writer(second, "b")
            with pytest.raises(ClusterFenced):
                await old.write([UnwindEntry(1)], 1, PoolChanges(ROWS))
            assert await read_page(second, START) == []
            assert await read_pool(second) == []
            await new.write([UnwindEntry(2)], 2)
            assert [it.entry for it in await read_page(first, START)] == [UnwindEntry(2)]

    play(postgres, scenario)


def test_a_write_that_is_repeated_is_rejected(postgres: Postgres) -> None:
    async def scenario(cluster: EmptyCluster) -> None:
        async with cluster.connected() as connection:
            writer = await cluster.writer(connection)
            before = writer.end
            await writer.write([UnwindEntry(1)], 1)
            writer.end = before
            with pytest.raises(ClusterFenced):
                await writer.write([UnwindEntry(1)], 1)

    play(postgres, scenario)


def test_the_pool_changes_with_the_entry_or_not_at_all(postgres: Postgres) -> None:
    async def scenario(cluster: EmptyCluster) -> None:
        async with cluster.connected() as connection:
            writer = await cluster.writer(connection)
            await writer.write([], 0, PoolChanges(ROWS))
            assert await read_pool(connection) == ROWS
            await writer.write(
                [UnwindEntry(1)], 1, PoolChanges(removed=[ROWS[0].hash, ROWS[2].hash])
            )
            assert await read_pool(connection) == [ROWS[1]]
            assert writer.end.seq == 1

    play(postgres, scenario)


def test_every_write_renews_the_lease(postgres: Postgres) -> None:
    async def scenario(cluster: EmptyCluster) -> None:
        async with cluster.connected() as connection:
            writer = await cluster.writer(connection)
            await connection.execute("update lease set valid_until = clock_timestamp()")
            await writer.write([], 0)
            assert await connection.fetchval("select valid_until > clock_timestamp() from lease")

    play(postgres, scenario)


def test_a_broken_connection_leaves_the_outcome_unknown(postgres: Postgres) -> None:
    async def scenario(cluster: EmptyCluster) -> None:
        async with cluster.connected() as connection, cluster.connected() as other:
            writer = await cluster.writer(connection)
            await other.execute("select pg_terminate_backend($1)", connection.get_server_pid())
            with pytest.raises(OutcomeUnknown):
                await writer.write([UnwindEntry(1)], 1)

    play(postgres, scenario)
