"""Connections to the database of a cluster."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest

from entresol.errors import ClusterUnreachable, InvalidConfig
from entresol.features.cluster.postgres.connection import (
    ClusterAddress,
    ClusterDatabase,
    DatabaseDistance,
    Notifications,
)
from tests.support.cluster.postgres import EmptyCluster, Postgres

SETTINGS = {
    "transaction_isolation": "read committed",
    "synchronous_commit": "on",
    "statement_timeout": "1500ms",
    "idle_in_transaction_session_timeout": "1500ms",
}


async def test_a_session_waits_for_durable_commits_and_gives_up_within_the_lease(
    postgres: Postgres,
) -> None:
    database = ClusterDatabase(ClusterAddress(postgres.url), 3.0)
    async with database.session() as connection:
        found = {name: await connection.fetchval(f"show {name}") for name in SETTINGS}
    assert found == SETTINGS


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


async def test_a_wrong_password_is_rejected_and_not_repeated(postgres: Postgres) -> None:
    if not postgres.can_restart:
        pytest.skip("the server is not ours")
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


async def test_notifications_wake_and_are_not_lost(cluster: EmptyCluster) -> None:
    async with cluster.connected() as connection, cluster.connected() as other:
        notifications = Notifications()
        await notifications.listen(connection, "news")
        await other.execute("notify news")
        await notifications.wait(60)
        notifications.wake()
        await notifications.wait(60)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://anna:secret@db.example:5433/chain", "postgresql://db.example:5433/chain"),
        ("postgres://db/chain?sslmode=require&password=secret", "postgresql://db/chain"),
        ("postgresql:///chain?host=/run/postgresql", "postgresql:///run/postgresql/chain"),
        ("postgresql://postgres:secret@/chain?host=/tmp/pg", "postgresql:///tmp/pg/chain"),
        ("postgresql:///chain", "postgresql:///chain"),
    ],
)
def test_an_address_is_shown_without_user_and_password(url: str, shown: str) -> None:
    address = ClusterAddress(url)
    assert address.url == url
    assert address.redacted == shown
    assert "secret" not in repr(address)


@pytest.mark.parametrize(
    "url", ["", "mysql://a:secret@b/c", "secret", "postgresql://a:b@c:secret/"]
)
def test_what_is_no_address_is_rejected_without_repeating_it(url: str) -> None:
    with pytest.raises(InvalidConfig, match="--cluster") as error:
        ClusterAddress(url)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("skew", "round_trip", "problem"),
    [
        (0.1, 0.01, None),
        (3_600.0, 0.01, "the clock of this node is 3600.0 s ahead of the database's"),
        (-3_600.0, 0.5, "the clock of this node is 3600.0 s behind the database's"),
        (0.1, 0.5, "a round trip to the database takes 500 ms, so blocks are slow"),
    ],
)
def test_a_wrong_clock_and_a_long_way_are_reported(
    skew: float, round_trip: float, problem: str | None
) -> None:
    assert DatabaseDistance(skew, round_trip).problem == problem
