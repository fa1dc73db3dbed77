"""What a node has while it produces: sealer, rollup, pool. Made at takeover, dropped when that ends."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol

from entresol.replication.postgres.journal import ClusterJournal
from entresol.replication.postgres.pool_rows import PoolRows
from entresol.replication.postgres.sealer import ClusterSealer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from entresol.chain.chain import Chain
    from entresol.chain.journal import Journal
    from entresol.replication.postgres.distance import DatabaseDistance
    from entresol.replication.postgres.sequencer import ClusterSequencer
    from entresol.replication.postgres.writer import LogWriter, PoolRow
    from entresol.storage.replication.entries import Entry

RENEWALS: Final = 3
"""How often a lease is renewed within the time that it is valid for."""


class ProducedRollup(Protocol):
    """Batches, deposits and settlement of a node that produces."""

    async def start(self) -> None:
        """Start its services."""

    async def stop(self) -> None:
        """Stop them."""


class Production:
    """Produces blocks, batches and settlement from one takeover until the journal fails.

    Everything that is pending (pool, priority queue, open batch, transactions to L1) is made from the log and the
    tables here, and dropped at the end, never repaired. Remembers: nothing beyond its parts. Persists: through the
    journal. Fails: `run` returns why it ended.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - independent parts
        self,
        chain: Chain,
        sequencer: ClusterSequencer,
        writer: LogWriter,
        rows: Sequence[PoolRow],
        make_rollup: Callable[[Journal], ProducedRollup],
        on_applied: Callable[[Entry], None],
        lease_seconds: float,
    ) -> None:
        self._chain = chain
        self._sequencer = sequencer
        self._writer = writer
        self.epoch = writer.epoch
        self.journal = ClusterJournal(chain, writer, on_applied)
        chain.drop_pending()
        self._sealer = ClusterSealer(
            chain, self.journal, PoolRows(chain, rows), lease_seconds / RENEWALS
        )
        self.rollup = make_rollup(self.journal)

    @property
    def distance(self) -> DatabaseDistance | None:
        """How far the database was at the last write."""
        return self._writer.distance

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be written."""
        return self.journal.failure is not None

    async def run(self) -> Exception:
        """Produce until the journal fails; return what it failed with."""
        chain, sealer = self._chain, self._sealer
        self._sequencer.lead(sealer)
        sealing = asyncio.create_task(sealer.run())
        failing = asyncio.create_task(self.journal.failed.wait())
        await self.rollup.start()
        sealer.wake()
        try:
            await asyncio.wait({sealing, failing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._sequencer.follow()
            await self.rollup.stop()
            for task in (sealing, failing):
                task.cancel()
            ended = await asyncio.gather(sealing, return_exceptions=True)
            await self.journal.close()
            chain.drop_pending()
        failure = self.journal.failure if self.journal.failure is not None else ended[0]
        assert isinstance(failure, Exception)
        return failure
