"""The durable pool: a row for each transaction that was acknowledged and is in no block."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from entresol.errors import InvalidTransaction, PoolRejection
from entresol.primitives.transactions import decode
from entresol.replication.postgres.writer import PoolRow

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    import asyncpg

    from entresol.chain.chain import Chain
    from entresol.replication.postgres.journal import ClusterJournal

log = logging.getLogger(__name__)

PAGE_ROWS: Final = 1_000


class PoolRows:
    """Writes the pool in memory to the rows of the pool.

    Remembers: the hashes of the rows. Persists: rows, all changes since the last time in one statement. A transaction
    that was replaced, evicted or made invalid leaves the pool, and so its row goes with the next statement.
    """

    def __init__(self, chain: Chain, rows: Iterable[PoolRow] = ()) -> None:
        self._pool = chain.pool
        self._hashes: set[bytes] = set()
        self._arrived = 0
        for row in rows:
            self._hashes.add(row.hash)
            self._arrived = max(self._arrived, row.arrived + 1)
            try:
                chain.add(decode(row.raw))
            except (InvalidTransaction, PoolRejection) as error:
                # Without a place in the pool its row is removed next.
                log.info("transaction 0x%s of the pool is dropped: %s", row.hash.hex(), error)

    @property
    def has_changes(self) -> bool:
        """Whether the pool has changed since its rows were written."""
        return self._pool.hashes != self._hashes

    def changes(
        self, included: Collection[bytes] = ()
    ) -> tuple[Sequence[PoolRow], Sequence[bytes]]:
        """Return the rows to add and the hashes of those to remove since the last time, which the caller writes.

        Transactions that a block has `included`, which is written with the rows, leave the pool.
        """
        pool = self._pool
        added = sorted((pool.hashes - self._hashes).difference(included), key=pool.arrival)
        removed = [it for it in self._hashes if it not in pool or it in included]
        rows = [
            PoolRow(it, transaction.raw, self._arrived + index)
            for index, it in enumerate(added)
            if (transaction := pool.get(it)) is not None
        ]
        self._arrived += len(rows)
        self._hashes.difference_update(removed)
        self._hashes.update(added)
        return rows, removed

    async def flush(self, journal: ClusterJournal) -> None:
        """Write the changes since the last time."""
        await journal.update_pool(*self.changes())


async def read_pool(connection: asyncpg.Connection[Any]) -> list[PoolRow]:
    """Return the rows of the pool in the order of arrival, read by pages."""
    rows: list[PoolRow] = []
    while True:
        last = (rows[-1].arrived, rows[-1].hash) if rows else (-(2**63), b"")
        page = await connection.fetch(
            "select hash, raw, arrived from pool where (arrived, hash) > ($1, $2) "
            "order by arrived, hash limit $3",
            *last,
            PAGE_ROWS,
        )
        rows += [PoolRow(*row) for row in page]
        if len(page) < PAGE_ROWS:
            return rows
