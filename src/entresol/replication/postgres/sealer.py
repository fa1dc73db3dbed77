"""Seal the blocks of a cluster: one write to the log at a time, and what arrives meanwhile shares the next block."""

from __future__ import annotations

import asyncio
import contextlib
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.chain.sealing.block_producer import INLINE_GAS
from entresol.errors import GasBudgetSpent, ProducerUnavailable
from entresol.execution.work_budget import WorkBudget

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.chain.sealing.pending_block import OpenBlock
    from entresol.primitives.headers import Header
    from entresol.primitives.values import Hash32
    from entresol.replication.postgres.journal import ClusterJournal
    from entresol.replication.postgres.pool_rows import PoolRows
    from entresol.sequencer.sequencer import OnIncluded

TICK_SECONDS: Final = 0.02
BLOCKS_WAITED: Final = 4
"""How many blocks may leave a transaction out before its sender has a response for the row in the pool."""
_LOST: Final = "is no longer this one"


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
        prices = self._chain.rules.fees.prices()
        # In the same statement: with a distant database each one takes long.
        added, removed = self._rows.changes({it.hash for it in executed.transactions})
        waiting, self._served, self._pending = self._served + self._pending, [], []
        try:
            header = await self.journal.seal(executed, prices, added, removed)
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
        for it in waiting:
            if it.blocks and self._chain.pool.is_pending(it.hash):
                self._served.append(it._replace(blocks=it.blocks - 1))
            else:
                it.report(self._chain.rejections.of(it.hash))

    async def round(self) -> None:
        """Seal what is due, write the changes of the pool, and renew the lease if neither did."""
        chain = self._chain
        if chain.is_due(time.monotonic()):
            await self.seal()
        while chain.schedule.is_automine and chain.producer.has_work:
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
        """Return when woken, and otherwise after a tick."""
        if not self._woken.is_set():
            try:
                async with asyncio.timeout(TICK_SECONDS):
                    await self._woken.wait()
            except TimeoutError:
                return
        self._woken.clear()

    async def _build(self) -> OpenBlock:
        """Build the next block: on the thread, if it takes longer than the event loop has time for."""
        if not self._chain.producer.is_heavy:
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
        for it in pending:
            it.report(ProducerUnavailable(_LOST))
