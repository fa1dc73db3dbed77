"""The tables of a cluster: schema and versions, the row of the chain, and the canonical log with its digests."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

import asyncpg
import msgspec

from entresol.errors import InvalidConfig, MalformedValue
from entresol.features.cluster.errors import LogDamaged, LogTailLost, LogTruncated
from entresol.features.cluster.log_follower import LoggedEntry
from entresol.features.cluster.postgres.connection import FLAG, SCHEMA
from entresol.storage.log_entries import decode_entry
from entresol.storage.tables import LogPosition
from entresol.version import FORMAT

if TYPE_CHECKING:
    from collections.abc import Sequence

    import asyncpg

CHANNEL: Final = "entresol_log"
PAGE_ENTRIES: Final = 256
PAGE_BYTES: Final = 8 << 20
"""A page ends with the entry that exceeds this, so a page is at most this and the largest entry."""

_PAGE: Final = """
select seq, digest, payload from (
    select seq, digest, payload, sum(octet_length(payload)) over (order by seq) as bytes
    from log where seq > $1 and seq <= $1 + $2
) as page where bytes - octet_length(payload) < $3 order by seq
"""

_TABLES: Final = """
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

_LOCK: Final = 0x656E7472
"""Key of the advisory lock of who creates the tables, so that two nodes do not at once."""


def digest_after(before: bytes, seq: int, payload: bytes) -> bytes:
    """Return the digest of the log up to an entry; each covers all before it."""
    return hashlib.sha256(before + seq.to_bytes(8) + payload).digest()


async def read_page(
    connection: asyncpg.Connection[Any], after: LogPosition
) -> Sequence[LoggedEntry]:
    """Return the next entries after a position; raise if one of them is missing or damaged."""
    rows = await connection.fetch(_PAGE, after.seq, PAGE_ENTRIES, PAGE_BYTES)
    found = []
    position = after
    for seq, digest, payload in rows:
        if seq != position.seq + 1:
            raise LogTruncated(position.seq + 1, seq)
        if digest_after(position.digest, seq, payload) != digest:
            raise LogDamaged(seq, "its digest is not that of its contents")
        position = LogPosition(seq, digest)
        try:
            found.append(LoggedEntry(position, decode_entry(payload)))
        except MalformedValue as error:
            raise LogDamaged(seq, str(error)) from error
    return found


class PostgresLog:
    """The canonical log, as a connection reads it."""

    def __init__(self, connection: asyncpg.Connection[Any]) -> None:
        self._connection = connection

    async def read_page(self, after: LogPosition) -> Sequence[LoggedEntry]:
        """Return the next entries after a position; raise if one of them is missing or damaged."""
        return await read_page(self._connection, after)


async def check_tail(connection: asyncpg.Connection[Any], applied: LogPosition) -> None:
    """Raise unless the log still has the last entry that was applied, and the one after it if there is one."""
    last = await connection.fetchval("select seq from lease")
    if last < applied.seq:
        raise LogTailLost(applied.seq, last)
    digest = await connection.fetchval("select digest from log where seq = $1", applied.seq)
    if digest is not None and digest != applied.digest:
        raise LogTailLost(applied.seq, last)
    if applied.seq == last:
        return
    first = await connection.fetchval("select min(seq) from log")
    if first is None or first > applied.seq + 1:
        raise LogTruncated(applied.seq + 1, first or last + 1)


class ClusterChain(msgspec.Struct, frozen=True, kw_only=True):
    """The chain of a cluster, which a node that joins takes from the database."""

    identity: bytes
    """The hash that identifies the genesis."""
    chain_id: int
    genesis: bytes
    """The genesis as geth's JSON."""
    settings: bytes
    """The settings that every node must have in common, as JSON."""
    l1_chain_id: int
    settlement: bytes
    """The L1 and the contracts on it, as JSON."""


async def write_chain(connection: asyncpg.Connection[Any], chain: ClusterChain) -> None:
    """Write the chain of a new cluster; that of an existing one stays."""
    await connection.execute(
        "insert into chain (identity, chain_id, genesis, settings, l1_chain_id, settlement) "
        "values ($1, $2, $3, $4::text::jsonb, $5, $6::text::jsonb) on conflict do nothing",
        chain.identity,
        chain.chain_id,
        chain.genesis,
        chain.settings.decode(),
        chain.l1_chain_id,
        chain.settlement.decode(),
    )


async def find_chain(connection: asyncpg.Connection[Any]) -> ClusterChain | None:
    """Return the chain of a cluster; None if it has none yet."""
    row = await connection.fetchrow(
        "select identity, chain_id, genesis, settings::text, l1_chain_id, settlement::text from chain"
    )
    if row is None:
        return None
    return ClusterChain(
        identity=row["identity"],
        chain_id=row["chain_id"],
        genesis=row["genesis"],
        settings=row["settings"].encode(),
        l1_chain_id=row["l1_chain_id"],
        settlement=row["settlement"].encode(),
    )


async def read_chain(connection: asyncpg.Connection[Any]) -> ClusterChain:
    """Return the chain of a cluster."""
    found = await find_chain(connection)
    if found is None:
        raise InvalidConfig(
            FLAG, "the cluster has no chain yet: run entresol cluster init with the same URL"
        )
    return found


async def create(connection: asyncpg.Connection[Any]) -> None:
    """Create the tables, in one transaction, unless they are there."""
    async with connection.transaction():
        await connection.execute("select pg_advisory_xact_lock($1)", _LOCK)
        await connection.execute(f"create schema if not exists {SCHEMA}")
        await connection.execute(
            "create table if not exists version (number integer not null, "
            "one boolean primary key default true check (one))"
        )
        found = await connection.fetchval("select number from version")
        if found is not None:
            _check_format(found)
            return
        await connection.execute(_TABLES)
        await connection.execute("insert into version (number) values ($1)", FORMAT)


async def check(connection: asyncpg.Connection[Any]) -> None:
    """Reject a database without the tables, or with those of another format."""
    try:
        found = await connection.fetchval("select number from version")
    except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError):
        found = None
    if found is None:
        raise InvalidConfig(
            FLAG, "the database has no cluster yet: run entresol cluster init with the same URL"
        )
    _check_format(found)


def _check_format(found: int) -> None:
    if found != FORMAT:
        raise InvalidConfig(
            FLAG,
            f"the cluster has format {found}, and this version reads format {FORMAT} alone: take the version that made "
            "it, or another database",
        )
