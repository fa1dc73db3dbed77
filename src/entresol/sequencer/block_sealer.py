"""Seal blocks one at a time: on the event loop, or on a thread if they are heavy or the disk is slow."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from entresol.chain.sealing.block_filler import INLINE_GAS
from entresol.errors import (
    ChainReplaced,
    GasBudgetSpent,
    RemoteFailed,
    StateMissing,
    StoreFailed,
    SystemTransactionFailed,
)
from entresol.execution.limits import WorkBudget
from entresol.state_missing import MAX_FETCHES, RemotePatience

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.chain.sealing.pending_block import OpenBlock
    from entresol.primitives.headers import Header


logger = logging.getLogger(__name__)

QUICK_SYNC_SECONDS: Final = 0.01
"""Up to this time of the last write, the event loop waits for the disk: a hop to the thread costs a busy machine more."""

ATTEMPTS: Final = 3
"""How often a block is built on the thread, if the chain changes meanwhile, before it is built on the event loop."""

RETRY_SECONDS: Final = 1.0
"""After which time a block is tried again that could not be sealed: a full disk may have space by then."""

SEALING_ERRORS: Final = (StoreFailed, SystemTransactionFailed, RemoteFailed)
"""What prevents every block: the store, roots that cannot be imported, or the remote of a fork. Each is tried again, and logged once."""


class BlockSealer:
    """Seals the blocks of a chain, one at a time."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="seal")
        self._sealing = asyncio.Lock()
        self._failure: str | None = None

    @property
    def has_heavy_queues(self) -> bool:
        """Whether the pending roots and priority transactions take long to execute."""
        return self._chain.filler.has_heavy_queues

    @property
    def is_heavy(self) -> bool:
        """Whether the next block takes long to execute."""
        return self._chain.builder.is_heavy

    @property
    def is_disk_slow(self) -> bool:
        """Whether the last block took long to be durable."""
        return self._chain.ledger.store.sync_seconds > QUICK_SYNC_SECONDS

    async def seal(self, *, leaves_out: bool = True) -> Header:
        """Seal the next block, even if it is empty; a thread executes a heavy one, and waits for a slow disk.

        Unless it `leaves_out` somebody for what a fork has not fetched yet: then raise `ColdFound` first.
        """
        header = await self._seal(leaves_out=leaves_out)
        assert header is not None
        return header

    async def seal_work(self, *, is_long: bool = False) -> Header | None:
        """Seal the next block, unless it has rejected all that it could have included.

        `is_long` says that it takes longer than its gas.
        """
        return await self._seal(is_needed=False, is_long=is_long)

    def failed(self, error: StoreFailed | SystemTransactionFailed | RemoteFailed) -> float:
        """Log why a block could not be sealed, once until one is or the reason changes; return when to try again."""
        if str(error) != self._failure:
            logger.error("a block could not be sealed: %s", error)
        self._failure = str(error)
        return RETRY_SECONDS

    async def _seal(
        self, *, is_needed: bool = True, is_long: bool = False, leaves_out: bool = True
    ) -> Header | None:
        async with self._sealing:
            patience = RemotePatience()
            for _ in range(MAX_FETCHES):
                try:
                    sealed = await self._seal_next(
                        is_needed=is_needed, is_long=is_long, leaves_out=leaves_out
                    )
                except StateMissing as missing:
                    # A fork has to fetch what each block begins with.
                    needed = missing
                else:
                    self._failure = None
                    return sealed
                await patience.fetched(needed)
            raise needed

    async def _seal_next(
        self, *, is_needed: bool, is_long: bool, leaves_out: bool
    ) -> Header | None:
        """Seal the next block; one that takes longer than its gas is found out by beginning, and begins again."""
        is_heavy = is_long or self.is_heavy
        if not is_heavy and not self.is_disk_slow:
            try:
                return self._seal_here(
                    WorkBudget(INLINE_GAS), is_needed=is_needed, leaves_out=leaves_out
                )
            except GasBudgetSpent:
                is_heavy = True
        for _ in range(ATTEMPTS):
            try:
                block = await self._build(on_thread=is_heavy)
            except GasBudgetSpent:
                is_heavy = True
                continue
            if block is None and not is_needed and not self._chain.filler.has_work:
                # A revert has taken what the block was for.
                return None
            if block is not None and block.is_vain and not is_needed:
                self._chain.builder.reject(block)
                return None
            if block is not None and not leaves_out:
                self._chain.builder.check_complete(block)
            write = None if block is None else self._chain.builder.write_open(block)
            if write is not None:
                await asyncio.get_running_loop().run_in_executor(self._thread, write.sync)
                return self._chain.builder.show(write)
        return self._seal_here(None, is_needed=is_needed, leaves_out=leaves_out)

    async def stop(self) -> None:
        """Wait for the thread: it reads the store, which is closed next."""
        await asyncio.to_thread(self._thread.shutdown, wait=True)

    def _seal_here(
        self, budget: WorkBudget | None, *, is_needed: bool, leaves_out: bool
    ) -> Header | None:
        if is_needed:
            return self._chain.builder.seal(budget=budget, leaves_out=leaves_out)
        return self._chain.builder.seal_work(budget=budget)

    async def _build(self, *, on_thread: bool) -> OpenBlock | None:
        """Build the next block; None if the chain changes meanwhile."""
        block = self._chain.builder.open_block(budget=None if on_thread else WorkBudget(INLINE_GAS))
        loop = asyncio.get_running_loop()
        while block.prepare():
            if not on_thread:
                block.execute()
                continue
            with contextlib.suppress(ChainReplaced), self._chain.use.held():
                await loop.run_in_executor(self._thread, block.execute)
            if not self._chain.builder.is_next(block):
                return None
        return block
