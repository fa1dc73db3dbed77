"""Seal blocks without blocking the event loop: one a turn, and heavy ones on a thread."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from itertools import chain as concatenated
from typing import TYPE_CHECKING, Final

from entresol.errors import StoreFailed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable

    from entresol.chain.chain import Chain
    from entresol.chain.open_block import OpenBlock
    from entresol.primitives.headers import Header
    from entresol.primitives.transactions import Transaction

logger = logging.getLogger(__name__)

INLINE_GAS: Final = 3_000_000
"""Up to this gas limit of all pending transactions, a block is sealed at once: it takes a few milliseconds."""

ATTEMPTS: Final = 3
"""How often a block is built on the thread, if the chain changes meanwhile, before it is built on the event loop."""

RETRY_SECONDS: Final = 1.0


class BlockSealer:
    """Seals the blocks of a chain, in the background while heavy transactions of L1 are pending.

    With automine a block of other transactions is sealed before the sender has its response, so on the event loop, or
    the response waits for what is sealed in the background: what a sender was told is durable.

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
        if self._has_heavy_deposits():
            self._task = asyncio.get_running_loop().create_task(self._seal_all())
        else:
            self._chain.seal_pending()

    async def seal(self) -> Header:
        """Seal the next block, even if it is empty; a heavy one executes on a thread."""
        async with self._sealing:
            for _ in range(ATTEMPTS if self._is_heavy() else 0):
                block = await self._build()
                header = None if block is None else self._chain.seal_open(block)
                if header is not None:
                    return header
            return self._chain.seal()

    def sealing(self) -> Awaitable[None] | None:
        """Return what to wait for until nothing is sealed in the background; None if nothing is."""
        return self.drain() if self.is_busy else None

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

    async def _build(self) -> OpenBlock | None:
        """Build the next block on the thread; None if the chain changes meanwhile."""
        block, loop = self._chain.open_block(), asyncio.get_running_loop()
        while block.prepare():
            await loop.run_in_executor(self._thread, block.execute)
            if not self._chain.is_next(block):
                return None
        return block

    def _has_heavy_deposits(self) -> bool:
        return _is_heavy(self._chain.producer.priority)

    def _is_heavy(self) -> bool:
        return _is_heavy(concatenated(self._chain.producer.priority, self._chain.pool.best()))

    async def _seal_all(self) -> None:
        while self._chain.schedule.is_automine and self._has_heavy_deposits():
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
        if self._chain.schedule.is_automine:
            self._chain.seal_pending()


def _is_heavy(transactions: Iterable[Transaction]) -> bool:
    gas = 0
    for transaction in transactions:
        gas += transaction.payload.gas_limit
        if gas > INLINE_GAS:
            return True
    return False
