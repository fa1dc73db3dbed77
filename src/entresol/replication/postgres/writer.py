"""Write to the log and the pool as the producer: fencing, renewal, order and contents in one statement."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from entresol.errors import ClusterFenced, OutcomeUnknown
from entresol.replication.postgres.connection import BROKEN
from entresol.replication.postgres.distance import DatabaseDistance
from entresol.replication.postgres.log import CHANNEL, digest_after
from entresol.storage.replication.entries import encode_entry, kind_of
from entresol.storage.replication.position import LogPosition

if TYPE_CHECKING:
    from collections.abc import Sequence

    import asyncpg

    from entresol.replication.postgres.lease import HeldLease
    from entresol.storage.replication.entries import Entry

_WRITE: Final = """
with held as (
    update lease set seq = $3, digest = $4, head = $5, valid_until = clock_timestamp() + $6
    where epoch = $1 and seq = $2
    returning epoch, seq
), logged as (
    insert into log (seq, epoch, digest, kind, head, payload)
    select entry.seq, held.epoch, entry.digest, entry.kind, $5, entry.payload
    from held, unnest($7::bigint[], $8::bytea[], $9::text[], $10::bytea[]) as entry (seq, digest, kind, payload)
), removed as (
    delete from pool using held where hash = any($11::bytea[])
), added as (
    insert into pool (hash, raw, arrived)
    select item.hash, item.raw, item.arrived
    from held, unnest($12::bytea[], $13::bytea[], $14::bigint[]) as item (hash, raw, arrived)
    on conflict (hash) do nothing
)
select case when seq > $2 then pg_notify($15, seq::text) end,
    extract(epoch from clock_timestamp())::float8 as clock
from held
"""


class PoolRow(NamedTuple):
    """A transaction in the pool: `arrived` orders them."""

    hash: bytes
    raw: bytes
    arrived: int


class LogWriter:
    """Writes as the producer of one epoch.

    Remembers: the end of the log. Assumes: one write at a time. Fails: with `ClusterFenced` if another node has taken
    over, and nothing was written; with `OutcomeUnknown` if the connection broke, and then it must not be used again.
    """

    def __init__(
        self, connection: asyncpg.Connection[Any], lease: HeldLease, seconds: float
    ) -> None:
        self._connection = connection
        self._valid = timedelta(seconds=seconds)
        self.epoch = lease.epoch
        self.end = lease.end
        self.distance: DatabaseDistance | None = None
        """How far the database was at the last write."""

    async def write(
        self,
        entries: Sequence[Entry],
        head: int,
        *,
        added: Sequence[PoolRow] = (),
        removed: Sequence[bytes] = (),
    ) -> Sequence[LogPosition]:
        """Write entries and changes of the pool, renew the lease, and return the positions of the entries.

        `head` is the last block after them. Without entries only the pool and the lease change.
        """
        payloads = [encode_entry(entry) for entry in entries]
        positions = self._positions(payloads)
        end = positions[-1] if positions else self.end
        before = time.time()
        try:
            written = await self._connection.fetchrow(
                _WRITE,
                self.epoch,
                self.end.seq,
                end.seq,
                end.digest,
                head,
                self._valid,
                [it.seq for it in positions],
                [it.digest for it in positions],
                [kind_of(entry) for entry in entries],
                payloads,
                removed,
                *([it[column] for it in added] for column in range(3)),
                CHANNEL,
            )
        except BROKEN as error:
            raise OutcomeUnknown(str(error) or type(error).__name__) from error
        if written is None:
            raise ClusterFenced(self.epoch)
        self.end = end
        self.distance = DatabaseDistance.since(before, clock=written["clock"])
        return positions

    def _positions(self, payloads: Sequence[bytes]) -> list[LogPosition]:
        found: list[LogPosition] = []
        last = self.end
        for payload in payloads:
            seq = last.seq + 1
            last = LogPosition(seq, digest_after(last.digest, seq, payload))
            found.append(last)
        return found
