"""The canonical log: digests, and reading by pages."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from entresol.errors import LogDamaged, LogTailLost, LogTruncated, MalformedValue
from entresol.replication.follower import LoggedEntry
from entresol.storage.replication.entries import decode_entry
from entresol.storage.replication.position import LogPosition

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
