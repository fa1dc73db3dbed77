"""What a node has while it produces: sealer, rollup, pool. Made at takeover, dropped when that ends."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NoReturn

from entresol.cluster.journal import ClusterJournal
from entresol.cluster.pool_rows import PoolRows
from entresol.cluster.sealer import ClusterSealer
from entresol.errors import ProducerUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from entresol.chain.chain import Chain
    from entresol.cluster.distance import DatabaseDistance
    from entresol.cluster.writer import LogWriter, PoolRow
    from entresol.node.settlement.rollup import Rollup
    from entresol.storage.replication.entries import Entry

RENEWALS: Final = 3
"""How often a lease is renewed within the time that it is valid for."""


class Production:
    """Produces blocks, batches and settlement from one takeover until the journal fails.

    Everything that is pending (pool, priority queue, open batch, transactions to L1) is made from the log and the
    tables here, and dropped at the end, never repaired. Remembers: nothing beyond its parts. Persists: through the
    journal. Fails: `run` returns why it ended.
    """

    def __init__(
        self,
        chain: Chain,
        writer: LogWriter,
        rows: Sequence[PoolRow],
        make_rollup: Callable[[], Rollup],
        on_applied: Callable[[Entry], None],
        lease_seconds: float,
    ) -> None:
        self._chain = chain
        self._writer = writer
        self.epoch = writer.epoch
        self.journal = ClusterJournal(chain, writer, on_applied)
        chain.drop_pending()
        chain.journal = self.journal
        self._sealer = ClusterSealer(
            chain, self.journal, PoolRows(chain, rows), lease_seconds / RENEWALS
        )
        self.rollup = make_rollup()

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
        chain.automine, chain.include, chain.mine = sealer.wake, sealer.include, sealer.seal
        chain.accepts_known = True
        sealing = asyncio.create_task(sealer.run())
        failing = asyncio.create_task(self.journal.failed.wait())
        self.rollup.start()
        sealer.wake()
        try:
            await asyncio.wait({sealing, failing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            retire(chain)
            await self.rollup.stop_workers()
            for task in (sealing, failing):
                task.cancel()
            ended = await asyncio.gather(sealing, return_exceptions=True)
            await self.journal.close()
            chain.drop_pending()
        failure = self.journal.failure if self.journal.failure is not None else ended[0]
        assert isinstance(failure, Exception)
        return failure


def retire(chain: Chain) -> None:
    """Let a chain accept nothing, as on a node that follows."""
    chain.automine, chain.mine = _reject, _reject
    chain.include = lambda _hash, on_included: on_included(_elsewhere())


def _reject() -> NoReturn:
    raise _elsewhere()


def _elsewhere() -> ProducerUnavailable:
    return ProducerUnavailable("is another node")
