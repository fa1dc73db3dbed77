"""Seal blocks without blocking the event loop: one a turn, and heavy priority transactions on a thread."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from entresol.chain.mining import MiningMode
from entresol.errors import StoreFailed

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.primitives.headers import Header

logger = logging.getLogger(__name__)

INLINE_GAS: Final = 3_000_000
"""Up to this gas limit of all pending priority transactions, a block is sealed at once: it takes a few milliseconds."""

ATTEMPTS: Final = 3
"""How often a block is built on the thread, if the chain changes meanwhile, before it is built on the event loop."""

RETRY_SECONDS: Final = 1.0


class BlockSealer:
    """Seals the blocks of a chain, in the background while heavy transactions of L1 are pending.

    Remembers: the task in the background. Persists: nothing; the chain does. Assumes: one event loop, whose thread
    alone changes the chain. Fails: as the chain does; in the background it logs the failure and retries.
    """

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="seal")
        self._task: asyncio.Task[None] | None = None
        self._sealing = asyncio.Lock()

    @property
    def is_busy(self) -> bool:
        """Whether blocks are being sealed in the background."""
        return self._task is not None and not self._task.done()

    def automine(self) -> None:
        """Seal what is pending: now, or in the background if it is heavy."""
        if self.is_busy:
            return
        if self._is_heavy():
            self._task = asyncio.get_running_loop().create_task(self._seal_all())
        else:
            self._chain.seal_pending()

    async def seal(self) -> Header:
        """Seal the next block, even if it is empty; its heavy transactions execute on a thread."""
        async with self._sealing:
            for _ in range(ATTEMPTS if self._is_heavy() else 0):
                block = self._chain.open_block()
                await asyncio.get_running_loop().run_in_executor(self._thread, block.execute)
                header = self._chain.seal_open(block)
                if header is not None:
                    return header
            return self._chain.seal()

    async def drain(self) -> None:
        """Wait until nothing is sealed in the background."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def stop(self) -> None:
        """Stop sealing, and wait for the thread: it reads the store, which is closed next."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await asyncio.to_thread(self._thread.shutdown, wait=True)

    def _is_heavy(self) -> bool:
        gas = 0
        for transaction in self._chain.producer.priority:
            gas += transaction.payload.gas_limit
            if gas > INLINE_GAS:
                return True
        return False

    async def _seal_all(self) -> None:
        while self._chain.schedule.mode is MiningMode.AUTO and self._is_heavy():
            try:
                await self.seal()
            except StoreFailed as error:
                # A full disk may have space again later.
                logger.error("a block could not be sealed: %s", error)  # noqa: TRY400  # known
                await asyncio.sleep(RETRY_SECONDS)
            except Exception:
                logger.exception("a block could not be sealed; trying again")
                await asyncio.sleep(RETRY_SECONDS)
            # Others have their turn.
            await asyncio.sleep(0)
        if self._chain.schedule.mode is MiningMode.AUTO:
            self._chain.seal_pending()
