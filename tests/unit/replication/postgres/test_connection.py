"""Connections to a cluster's database: their settings, and what is said when there is none."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest

from entresol.errors import ClusterUnreachable, InvalidConfig
from entresol.replication.postgres.connection import ClusterAddress, ClusterDatabase, Notifications
from tests.support.cluster.database import EmptyCluster, play
from tests.support.cluster.postgres import Postgres

SETTINGS = {
    "transaction_isolation": "read committed",
    "synchronous_commit": "on",
    "statement_timeout": "1500ms",
    "idle_in_transaction_session_timeout": "1500ms",
}


def test_a_session_waits_for_durable_commits_and_gives_up_within_the_lease(
    postgres: Postgres,
) -> None:
    async def whole() -> None:
        database = ClusterDatabase(ClusterAddress(postgres.url), 3.0)
        async with database.session() as connection:
            found = {name: await connection.fetchval(f"show {name}") for name in SETTINGS}
        assert found == SETTINGS

    asyncio.run(whole())


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("postgresql://u:secret@/x?host=/nowhere", "cannot be reached"),
        ("postgresql://u:secret@127.0.0.1:1/x", "cannot be reached"),
    ],
)
def test_a_server_that_is_not_there_is_unreachable(url: str, problem: str) -> None:
    database = ClusterDatabase(ClusterAddress(url), 3.0)
    with pytest.raises(ClusterUnreachable, match=problem) as error:
        asyncio.run(database.connect())
    assert "secret" not in str(error.value)


def test_a_wrong_password_is_rejected_and_not_repeated(postgres: Postgres) -> None:
    if not postgres.can_restart:
        pytest.skip("the server is not ours")

    async def whole() -> None:
        admin = await asyncpg.connect(postgres.url)
        await admin.execute("create role locked login password 'right'")
        with postgres.rejecting("locked"):
            await admin.execute("select pg_reload_conf()")
            folder = parse_qs(urlsplit(postgres.url).query)["host"][0]
            url = "postgresql://locked:{}@/postgres?host=" + folder
            right = ClusterDatabase(ClusterAddress(url.format("right")), 3.0)
            await right.close(await right.connect())
            wrong = ClusterDatabase(ClusterAddress(url.format("secret")), 3.0)
            with pytest.raises(InvalidConfig, match=r"--cluster: .*password") as error:
                await wrong.connect()
            assert "secret" not in str(error.value)
        await admin.execute("select pg_reload_conf()")
        await admin.execute("drop role locked")
        await admin.close()

    asyncio.run(whole())


def test_notifications_wake_and_are_not_lost(postgres: Postgres) -> None:
    async def scenario(cluster: EmptyCluster) -> None:
        async with cluster.connected() as connection, cluster.connected() as other:
            notifications = Notifications()
            await notifications.listen(connection, "news")
            await other.execute("notify news")
            await notifications.wait(60)
            notifications.wake()
            await notifications.wait(60)

    play(postgres, scenario)
