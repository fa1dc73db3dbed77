"""The tables of a cluster, with a version and migrations that lead to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import asyncpg

from entresol.errors import InvalidConfig
from entresol.replication.postgres.address import FLAG
from entresol.replication.postgres.connection import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Sequence

_FIRST: Final = """
create table chain (
    one boolean primary key default true check (one),
    identity bytea not null,
    chain_id bigint not null,
    genesis bytea not null,
    settings jsonb not null,
    l1_chain_id bigint not null,
    settlement jsonb not null
);
create table lease (
    one boolean primary key default true check (one),
    epoch bigint not null,
    holder text not null,
    url text not null,
    valid_until timestamptz not null,
    seq bigint not null,
    digest bytea not null,
    head bigint not null
);
create table log (
    seq bigint primary key,
    epoch bigint not null,
    digest bytea not null,
    kind text not null,
    head bigint not null,
    payload bytea not null
);
alter table log alter column payload set storage external;
create index log_without_blocks on log (seq) where kind <> 'block';
create table pool (
    hash bytea primary key,
    raw bytea not null,
    arrived bigint not null
);
create table node (
    id text primary key,
    url text not null,
    role text not null,
    epoch bigint not null,
    seq bigint not null,
    head bigint not null,
    seen timestamptz not null
);
insert into lease (epoch, holder, url, valid_until, seq, digest, head)
values (0, '', '', '-infinity', 0, decode(repeat('00', 32), 'hex'), 0);
"""

MIGRATIONS: Final[Sequence[str]] = (_FIRST,)
"""What leads from each version to the next one; the first one creates everything."""

VERSION: Final = len(MIGRATIONS)

_LOCK: Final = 0x656E7472
"""Key of the advisory lock that migrations hold, so that two nodes do not migrate at once."""


async def create(connection: asyncpg.Connection[Any]) -> None:
    """Create the tables, or bring those of an earlier version forward, in one transaction."""
    async with connection.transaction():
        await connection.execute("select pg_advisory_xact_lock($1)", _LOCK)
        await connection.execute(f"create schema if not exists {SCHEMA}")
        await connection.execute(
            "create table if not exists version (number integer not null, "
            "one boolean primary key default true check (one))"
        )
        found = await connection.fetchval("select number from version") or 0
        _check_not_newer(found)
        for migration in MIGRATIONS[found:]:
            await connection.execute(migration)
        await connection.execute(
            "insert into version (number) values ($1) on conflict (one) do update set number = $1",
            VERSION,
        )


async def check(connection: asyncpg.Connection[Any]) -> None:
    """Reject a database without the tables, or with those of another version."""
    try:
        found = await connection.fetchval("select number from version")
    except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError):
        found = None
    if found is None:
        raise InvalidConfig(
            FLAG, "the database has no cluster yet: run entresol cluster init with the same URL"
        )
    _check_not_newer(found)
    if found < VERSION:
        raise InvalidConfig(
            FLAG,
            f"the cluster has schema {found}, and this version needs {VERSION}: run entresol cluster init, which "
            "brings it forward",
        )


def _check_not_newer(found: int) -> None:
    if found > VERSION:
        raise InvalidConfig(
            FLAG,
            f"the cluster has schema {found}, and this version knows {VERSION}: update entresol",
        )
