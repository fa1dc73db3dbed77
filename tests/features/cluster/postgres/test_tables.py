"""The tables of a cluster."""

from __future__ import annotations

import asyncio

import pytest

from entresol.errors import ClusterFailed, InvalidConfig, LogDamaged, LogTailLost, LogTruncated
from entresol.features.cluster.postgres import tables
from entresol.features.cluster.postgres.connection import ClusterAddress, ClusterDatabase
from entresol.features.cluster.postgres.tables import check_tail, read_page
from entresol.storage.log_entries import UnwindEntry
from entresol.storage.tables import START, LogPosition
from tests.support.cluster.postgres import LEASE_SECONDS, EmptyCluster, Postgres


@pytest.mark.parametrize(
    ("name", "limit"), [("PAGE_ENTRIES", 2), ("PAGE_BYTES", 1)], ids=["entries", "bytes"]
)
async def test_a_page_is_bounded(
    cluster: EmptyCluster, monkeypatch: pytest.MonkeyPatch, name: str, limit: int
) -> None:
    monkeypatch.setattr(tables, name, limit)
    async with cluster.connected() as connection:
        writer = await cluster.writer(connection)
        await writer.write([UnwindEntry(number) for number in range(5)], 5)
        found, position = [], START
        while page := await read_page(connection, position):
            assert len(page) <= 2
            found += [it.entry for it in page]
            position = page[-1].position
        assert found == [UnwindEntry(number) for number in range(5)]


@pytest.mark.parametrize(
    ("damage", "error"),
    [
        ("update log set payload = '\\x00' where seq = 2", LogDamaged),
        ("update log set digest = '\\x00' where seq = 2", LogDamaged),
        ("delete from log where seq = 2", LogTruncated),
    ],
)
async def test_a_log_that_was_changed_is_not_followed(
    cluster: EmptyCluster, damage: str, error: type[ClusterFailed]
) -> None:
    async with cluster.connected() as connection:
        writer = await cluster.writer(connection)
        await writer.write([UnwindEntry(number) for number in range(3)], 3)
        await connection.execute(damage)
        with pytest.raises(error):
            await read_page(connection, START)


@pytest.mark.parametrize(
    ("applied", "loss", "error"),
    [
        (3, "select", None),
        (1, "select", None),
        (3, "delete from log where seq <= 2", None),
        (3, "delete from log where seq > 2; update lease set seq = 2", LogTailLost),
        (3, "update log set digest = '\\x00' where seq = 3", LogTailLost),
        (1, "delete from log where seq <= 2", LogTruncated),
        (1, "delete from log", LogTruncated),
    ],
)
async def test_a_node_notices_what_a_log_has_lost(
    cluster: EmptyCluster, applied: int, loss: str, error: type[ClusterFailed] | None
) -> None:
    async with cluster.connected() as connection:
        writer = await cluster.writer(connection)
        positions: list[LogPosition] = []
        for number in range(3):
            positions += await writer.write([UnwindEntry(number)], 3)
        await connection.execute(loss)
        if error is None:
            await check_tail(connection, positions[applied - 1])
        else:
            with pytest.raises(error):
                await check_tail(connection, positions[applied - 1])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("update version set number = 1", "format 1, and this version reads format"),
        ("drop schema entresol cascade", "run entresol cluster init"),
    ],
)
async def test_tables_of_another_format_are_rejected_with_what_to_do(
    cluster: EmptyCluster, change: str, problem: str
) -> None:
    async with cluster.connected() as connection:
        await connection.execute(change)
        with pytest.raises(InvalidConfig, match=f"--cluster: .*{problem}"):
            await tables.check(connection)


@pytest.fixture
def database(postgres: Postgres) -> ClusterDatabase:
    return ClusterDatabase(ClusterAddress(postgres.new_database()), LEASE_SECONDS)


async def test_tables_are_created_once_by_many_at_the_same_time(database: ClusterDatabase) -> None:
    async def create() -> None:
        async with database.session() as connection:
            await tables.create(connection)

    await asyncio.gather(*(create() for _ in range(4)))
    async with database.session() as connection:
        assert await connection.fetchval("select count(*) from lease") == 1
