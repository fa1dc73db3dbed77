"""Seal the blocks of a cluster: one write to the log at a time, and what arrives meanwhile shares the next block."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from entresol.errors import NoProducer

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from entresol.chain.chain import Chain
    from entresol.chain.open_block import OpenBlock
    from entresol.cluster.journal import ClusterJournal
    from entresol.cluster.pool_rows import PoolRows
    from entresol.execution.block_executor import ExecutedBlock
    from entresol.primitives.headers import Header

TICK_SECONDS: Final = 0.02
INLINE_GAS: Final = 3_000_000
"""Up to this gas limit of the pending transactions a block is executed on the event loop: a few milliseconds."""


class ClusterSealer:
    """Produces blocks, keeps the rows of the pool, and renews the lease, all in one loop.

    With automine a sender is answered once its transaction is in the log; otherwise, or if it cannot be in a block
    yet, once it has a row in the pool. Remembers: who waits for that. Persists: through the journal. Fails: as the
    journal does, which ends the loop; whoever waits is told to try again.
    """

    def __init__(
        self, chain: Chain, journal: ClusterJournal, rows: PoolRows, renew_seconds: float
    ) -> None:
        self._chain = chain
        self._journal = journal
        self._rows = rows
        self._renew_seconds = renew_seconds
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="seal")
        self._woken = asyncio.Event()
        self._waiting: list[asyncio.Future[None]] = []
        self._closed = False

    def wake(self) -> None:
        """Seal what is pending in the next round, which begins once the current one has ended."""
        self._woken.set()

    def durable(self) -> Awaitable[None]:
        """Return what to wait for until everything that is pending now is in a block or has a row in the pool."""
        if self._closed:
            raise NoProducer
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        self._woken.set()
        return waiting

    async def seal(self) -> Header:
        """Seal the next block, even if it is empty."""
        executed = await self._build(self._chain.open_block())
        prices = self._chain.rules.fees.prices()
        removed = self._rows.included(it.hash for it in executed.transactions)
        return await self._journal.seal(executed, prices, removed)

    async def run(self) -> None:
        """Produce until the journal fails."""
        try:
            while True:
                await self._wait()
                served, self._waiting = self._waiting, []
                try:
                    await self.round()
                except BaseException:
                    self._waiting = served + self._waiting
                    raise
                for waiting in served:
                    if not waiting.done():
                        waiting.set_result(None)
        finally:
            self._close()

    async def round(self) -> None:
        """Seal what is due, write the changes of the pool, and renew the lease if neither did."""
        chain = self._chain
        if chain.is_due(time.monotonic()):
            await self.seal()
        while chain.schedule.is_automine and chain.producer.has_work:
            if not (await self.seal()).gas_used:
                break
        if self._rows.has_changes:
            await self._rows.flush(self._journal)
        await self._renew()

    async def _renew(self) -> None:
        if time.monotonic() - self._journal.written_at >= self._renew_seconds:
            await self._journal.update_pool()

    async def _wait(self) -> None:
        if not self._woken.is_set():
            try:
                async with asyncio.timeout(TICK_SECONDS):
                    await self._woken.wait()
            except TimeoutError:
                return
        self._woken.clear()

    async def _build(self, block: OpenBlock) -> ExecutedBlock:
        loop, is_heavy = asyncio.get_running_loop(), self._is_heavy()
        while block.prepare():
            if is_heavy:
                await loop.run_in_executor(self._thread, block.execute)
                await self._renew()
            else:
                block.execute()
        assert block.executed is not None
        return block.executed

    def _is_heavy(self) -> bool:
        gas = 0
        for pending in (self._chain.producer.priority, self._chain.pool.best()):
            for transaction in pending:
                gas += transaction.payload.gas_limit
                if gas > INLINE_GAS:
                    return True
        return False

    def _close(self) -> None:
        self._closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_exception(NoProducer())
                # Its client may be gone.
                waiting.exception()
        self._waiting = []
