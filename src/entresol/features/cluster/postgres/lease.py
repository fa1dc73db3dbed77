"""The lease: which node produces blocks, since which epoch, and until when by the database's clock."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from entresol.features.cluster.postgres.connection import DatabaseDistance
from entresol.storage.tables import LogPosition

if TYPE_CHECKING:
    import asyncpg

_READ: Final = """
select epoch, holder, url, valid_until <= clock_timestamp() as is_free, seq, digest, head,
    extract(epoch from clock_timestamp())::float8 as clock
from lease
"""
_TAKE: Final = """
update lease set epoch = epoch + 1, holder = $1, url = $2, valid_until = clock_timestamp() + $3
where valid_until <= clock_timestamp() or holder = $1
returning epoch, seq, digest
"""
_SEIZE: Final = """
update lease set epoch = epoch + 1, holder = $1, url = '', valid_until = clock_timestamp() + $2
returning epoch, seq, digest
"""
_GIVE_UP: Final = (
    "update lease set valid_until = clock_timestamp() where epoch = $1 and holder = $2"
)


class LeaseState(NamedTuple):
    """The lease as it was read."""

    epoch: int
    holder: str
    url: str
    """The RPC address of the holder."""
    is_free: bool
    end: LogPosition
    """The end of the log."""
    head: int
    """The last block in the log."""
    distance: DatabaseDistance


class HeldLease(NamedTuple):
    """A lease that this node holds, and the end of the log when it took it."""

    epoch: int
    end: LogPosition


async def read_lease(connection: asyncpg.Connection[Any]) -> LeaseState:
    """Return the lease."""
    before = time.time()
    row = await connection.fetchrow(_READ)
    assert row is not None
    return LeaseState(
        row["epoch"],
        row["holder"],
        row["url"],
        row["is_free"],
        LogPosition(row["seq"], row["digest"]),
        row["head"],
        DatabaseDistance.since(before, clock=row["clock"]),
    )


async def take_lease(
    connection: asyncpg.Connection[Any], holder: str, url: str, seconds: float
) -> HeldLease | None:
    """Take a lease that has expired, or one's own again; None if another node holds it.

    The epoch rises, which waits for a write in flight, or makes it fail.
    """
    row = await connection.fetchrow(_TAKE, holder, url, timedelta(seconds=seconds))
    return None if row is None else _held(row)


async def seize_lease(
    connection: asyncpg.Connection[Any], holder: str, seconds: float
) -> HeldLease:
    """Take the lease from its holder, for one change by hand."""
    row = await connection.fetchrow(_SEIZE, holder, timedelta(seconds=seconds))
    assert row is not None
    return _held(row)


async def give_up_lease(connection: asyncpg.Connection[Any], epoch: int, holder: str) -> None:
    """Let another node take over at once."""
    await connection.execute(_GIVE_UP, epoch, holder)


def _held(row: asyncpg.Record) -> HeldLease:
    return HeldLease(row["epoch"], LogPosition(row["seq"], row["digest"]))
