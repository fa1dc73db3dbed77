"""The sequencer of a node in a cluster: it leads and seals while the node holds the lease, and otherwise follows."""

from __future__ import annotations

import asyncio
import contextlib
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from entresol.chain.sealing.block_filler import INLINE_GAS
from entresol.errors import GasBudgetSpent, ProducerUnavailable
from entresol.execution.limits import WorkBudget
from entresol.features.cluster.postgres.journal import ClusterJournal, LogWriter, PoolRow, PoolRows
from entresol.sequencer.sequencer import SequencerElsewhere

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from entresol.chain.chain import Chain
    from entresol.chain.journal import Journal
    from entresol.chain.sealing.pending_block import OpenBlock
    from entresol.features.cluster.postgres.connection import DatabaseDistance
    from entresol.primitives.headers import Header
    from entresol.primitives.values import Hash32
    from entresol.sequencer.sequencer import OnIncluded
    from entresol.storage.log_entries import Entry

TICK_SECONDS: Final = 0.02
BLOCKS_WAITED: Final = 4
"""How many blocks may leave a transaction out before its sender has a response for the row in the pool."""
_LOST: Final = "is no longer this one"

RENEWALS: Final = 3
"""How often a lease is renewed within the time that it is valid for."""


class _Waiting(NamedTuple):
    """A transaction whose sender waits for its response."""

    hash: Hash32
    report: OnIncluded
    blocks: int = BLOCKS_WAITED


class ClusterSealer:
    """Produces blocks, persists the pool, and renews the lease, all in one loop.

    With automine a sender gets its response once the transaction is in the log; otherwise, or if it cannot be in a
    block yet, once it has a row in the pool. Remembers: the pending responses. Persists: through the journal. Fails: as
    the journal does, which ends the loop; pending senders get an error that says to try again.
    """

    def __init__(
        self, chain: Chain, journal: ClusterJournal, rows: PoolRows, renew_seconds: float
    ) -> None:
        self._chain = chain
        self.journal = journal
        """Where blocks become durable."""
        self._rows = rows
        self._renew_seconds = renew_seconds
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="seal")
        self._woken = asyncio.Event()
        self._pending: list[_Waiting] = []
        self._served: list[_Waiting] = []
        self._closed = False

    def wake(self) -> None:
        """Seal what is pending in the next round, which begins once the current one has ended."""
        self._woken.set()

    def include(self, transaction_hash: Hash32, on_included: OnIncluded) -> None:
        """Report once the transaction is in a block, or everything that is pending now is or has a row in the pool."""
        if self._closed:
            on_included(ProducerUnavailable(_LOST))
            return
        self._pending.append(_Waiting(transaction_hash, on_included))
        self._woken.set()

    async def seal(self) -> Header:
        """Seal the next block, even if it is empty."""
        return await self._write(await self._build())

    async def _seal_work(self) -> Header | None:
        """Seal the next block, unless it has rejected all that it could have included."""
        block = await self._build()
        if block.is_vain:
            self._chain.builder.reject(block)
            return None
        return await self._write(block)

    async def _write(self, block: OpenBlock) -> Header:
        self._chain.builder.reject(block)
        executed = block.executed
        assert executed is not None
        # In the same statement: with a distant database each one takes long.
        pool = self._rows.changes(executed.transactions)
        waiting, self._served, self._pending = self._served + self._pending, [], []
        try:
            header = await self.journal.seal(executed, block.prices, pool)
        except BaseException:
            self._served = waiting + self._served
            raise
        self._report_sealed(waiting)
        return header

    async def run(self) -> None:
        """Produce until the journal fails."""
        try:
            while True:
                await self._tick()
                self._served, self._pending = self._served + self._pending, []
                await self.round()
                served, self._served = self._served, []
                for waiting in served:
                    waiting.report(self._chain.rejections.of(waiting.hash))
        finally:
            self._close()

    def _report_sealed(self, waiting: list[_Waiting]) -> None:
        """Report what is in a block, and what has a row and is not in the next ones: a round lasts while work comes."""
        for transaction in waiting:
            if transaction.blocks and self._chain.pool.is_pending(transaction.hash):
                self._served.append(transaction._replace(blocks=transaction.blocks - 1))
            else:
                transaction.report(self._chain.rejections.of(transaction.hash))

    async def round(self) -> None:
        """Seal what is due, write the changes of the pool, and renew the lease if neither did."""
        chain = self._chain
        if chain.is_due(time.monotonic()):
            await self.seal()
        while chain.schedule.is_automine and chain.filler.has_work:
            header = await self._seal_work()
            if header is not None and not header.gas_used:
                break
        if self._rows.has_changes:
            await self._rows.flush(self.journal)
        await self._renew()

    async def _renew(self) -> None:
        if time.monotonic() - self.journal.written_at >= self._renew_seconds:
            await self.journal.update_pool()

    async def _tick(self) -> None:
        if not self._woken.is_set():
            try:
                async with asyncio.timeout(TICK_SECONDS):
                    await self._woken.wait()
            except TimeoutError:
                return
        self._woken.clear()

    async def _build(self) -> OpenBlock:
        """Build the next block: on the thread, if it takes longer than the event loop has time for."""
        if not self._chain.filler.is_heavy:
            with contextlib.suppress(GasBudgetSpent):
                return self._built_here()
        loop, block = asyncio.get_running_loop(), self._chain.builder.open_block()
        while block.prepare():
            await loop.run_in_executor(self._thread, block.execute)
            await self._renew()
        return block

    def _built_here(self) -> OpenBlock:
        block = self._chain.builder.open_block(budget=WorkBudget(INLINE_GAS))
        while block.prepare():
            block.execute()
        return block

    def _close(self) -> None:
        self._closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)
        pending = self._served + self._pending
        self._served, self._pending = [], []
        for transaction in pending:
            transaction.report(ProducerUnavailable(_LOST))


class ClusterSequencer:
    """Decides blocks while this node leads; otherwise another node does.

    Remembers: what seals, while this node leads. Persists: through that. Fails: with `ProducerUnavailable` while
    another node leads.
    """

    def __init__(self) -> None:
        self._leading: ClusterSealer | None = None
        self._following = SequencerElsewhere()

    @property
    def accepts_known(self) -> bool:
        """Whether this node leads: a response may have been lost with the node that led before."""
        return self._leading is not None

    def lead(self, sealer: ClusterSealer) -> None:
        """Let `sealer` decide from now on."""
        self._leading = sealer

    def follow(self) -> None:
        """Decide nothing any more."""
        self._leading = None

    def wake(self) -> None:
        """Seal what is pending in the next round."""
        (self._leading or self._following).wake()

    def include(self, transaction_hash: Hash32, on_included: OnIncluded) -> None:
        """Report once the transaction is in a block, or everything that is pending now is or has a row in the pool."""
        (self._leading or self._following).include(transaction_hash, on_included)

    def flush(self) -> None:
        """Do nothing: a round of the cluster seals what has come."""

    async def seal(self) -> Header:
        """Seal the next block, even if it is empty."""
        return await (self._leading or self._following).seal()


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
