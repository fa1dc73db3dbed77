"""The sequencer of a process that seals the blocks of its chain itself, beside serving requests."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from entresol.background_task import BackgroundTask, cancel
from entresol.chain.events import BLOCK_EVENTS
from entresol.chain.mining_schedule import MiningMode
from entresol.chain.sealing.block_filler import INLINE_GAS, are_heavy
from entresol.errors import ChainReplaced, GasBudgetSpent, StoreFailed
from entresol.execution.work_budget import WorkBudget

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.chain.events import Event
    from entresol.chain.sealing.pending_block import OpenBlock
    from entresol.primitives.headers import Header
    from entresol.primitives.values import Hash32
    from entresol.sequencer.sequencer import OnIncluded


logger = logging.getLogger(__name__)


QUICK_SYNC_SECONDS: Final = 0.01
"""Up to this time of the last write, the event loop waits for the disk: a hop to the thread costs a busy machine more."""

RETRY_SECONDS: Final = 1.0
"""After which time a block is tried again that the store has failed to take: a full disk may have space by then."""

ATTEMPTS: Final = 3
"""How often a block is built on the thread, if the chain changes meanwhile, before it is built on the event loop."""

TICK_SECONDS: Final = 0.02


class Automine:
    """Seals what is pending, one block at a time, and reports to senders once their transactions are durable.

    A few light transactions are sealed at the end of the turn of the event loop that brought them, unless the disk is
    slow. Others are sealed in the background, and what arrives meanwhile is for the next block.

    Remembers: the senders of pending transactions. Persists: nothing; the chain does. Assumes: one event loop, whose
    thread alone changes the chain. Fails: towards the senders, whose transactions leave the pool, as that of one does
    which a block rejects; a block of deposits alone is tried again.
    """

    def __init__(self, chain: Chain, sealer: BlockSealer) -> None:
        self._chain = chain
        self._sealer = sealer
        self._pending: dict[Hash32, list[OnIncluded]] = {}
        self._task: asyncio.Task[None] | None = None
        self._is_scheduled = False
        chain.events.listen(self._on_event, *BLOCK_EVENTS)

    @property
    def is_busy(self) -> bool:
        """Whether blocks are being sealed in the background."""
        return self._task is not None and not self._task.done()

    def seal(self) -> None:
        """Seal what is pending: now, or in the background if deposits are heavy."""
        if self.is_busy:
            return
        if self._sealer.has_heavy_deposits:
            self._start()
        elif not self._seal_inline():
            self._start(is_long=True)

    def include(self, transaction_hash: Hash32, on_included: OnIncluded) -> None:
        """Seal a transaction with others that arrive in this turn of the event loop, and report it.

        One that no block can include now, or not by itself, is reported at once.
        """
        if not self._chain.schedule.is_automine or not self._chain.pool.is_pending(
            transaction_hash
        ):
            on_included(None)
            return
        self._pending.setdefault(transaction_hash, []).append(on_included)
        if not self._is_scheduled and not self.is_busy:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._seal_turn)

    def seal_included(self) -> None:
        """Seal what is to be included before the turn ends."""
        if self._is_scheduled:
            self._seal_turn()

    async def stop(self) -> None:
        """Stop sealing in the background; pending senders get an error."""
        self._chain.events.remove(self._on_event)
        await cancel(self._task)
        self._report_all(StoreFailed("the node stops; the transaction is in no block"))

    def _start(self, *, is_long: bool = False) -> None:
        self._task = asyncio.get_running_loop().create_task(self._seal_all(is_long=is_long))

    def _seal_turn(self) -> None:
        if not self._is_scheduled or self.is_busy:
            self._is_scheduled = False
            return
        self._is_scheduled = False
        if self._sealer.is_heavy or self._sealer.is_disk_slow:
            self._start()
            return
        try:
            if self._chain.schedule.is_automine and not self._seal_inline():
                self._start(is_long=True)
                return
        except Exception as error:
            if not isinstance(error, StoreFailed):
                logger.exception("a block could not be sealed")
            self._fail(error)
        self._report_all(None)

    def _seal_inline(self) -> bool:
        """Seal what is pending on the event loop; return False if it takes longer than its gas shows."""
        try:
            self._chain.builder.seal_pending(budget=WorkBudget(INLINE_GAS))
        except GasBudgetSpent:
            return False
        return True

    async def _seal_all(self, *, is_long: bool) -> None:
        """Seal what is pending; `is_long` says that the next block takes longer than its gas."""
        while self._chain.schedule.is_automine and self._chain.filler.has_work:
            try:
                header = await self._sealer.seal_work(is_long=is_long)
            except Exception as error:
                if isinstance(error, StoreFailed):
                    pause = self._sealer.failed(error)
                else:
                    pause = RETRY_SECONDS
                    logger.exception("a block could not be sealed; trying again")
                self._fail(error)
                if self._chain.filler.has_work:
                    await asyncio.sleep(pause)
            else:
                if header is not None and not header.gas_used:
                    break
                is_long = False
                # Others have their turn.
                await asyncio.sleep(0)
        self._report_all(None)

    def _on_event(self, _event: Event) -> None:
        if self._pending:
            for it in self._not_includable():
                self._report(it, None)

    def _not_includable(self) -> list[Hash32]:
        """Return the transactions that no next block includes: mostly because the last one has."""
        pool, until = self._chain.pool, {}
        found = []
        for it in self._pending:
            transaction = pool.get(it)
            if transaction is not None:
                sender = transaction.sender
                if sender not in until:
                    until[sender] = pool.includable_until(sender)
                if transaction.payload.nonce < until[sender]:
                    continue
            found.append(it)
        return found

    def _fail(self, error: Exception) -> None:
        """Report an error to all senders whose transactions are in no block, and drop those."""
        for it in list(self._pending):
            is_pooled = self._chain.pool.remove(it, str(error)) is not None
            self._report(it, error if is_pooled else None)

    def _report_all(self, error: Exception | None) -> None:
        for it in list(self._pending):
            self._report(it, error)

    def _report(self, transaction_hash: Hash32, error: Exception | None) -> None:
        error = error or self._chain.rejections.of(transaction_hash)
        for on_included in self._pending.pop(transaction_hash, ()):
            on_included(error)


class BlockSealer:
    """Seals the blocks of a chain, one at a time.

    Remembers: why the store failed last. Persists: nothing; the chain does. Assumes: one event loop, whose thread alone
    changes the chain. Fails: as the chain does.
    """

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="seal")
        self._sealing = asyncio.Lock()
        self._failure: str | None = None

    @property
    def has_heavy_deposits(self) -> bool:
        """Whether the pending priority transactions take long to execute."""
        return are_heavy(self._chain.filler.priority)

    @property
    def is_heavy(self) -> bool:
        """Whether the next block takes long to execute."""
        return self._chain.builder.is_heavy

    @property
    def is_disk_slow(self) -> bool:
        """Whether the last block took long to be durable."""
        return self._chain.ledger.store.sync_seconds > QUICK_SYNC_SECONDS

    async def seal(self) -> Header:
        """Seal the next block, even if it is empty; a thread executes a heavy one, and waits for a slow disk."""
        header = await self._seal()
        assert header is not None
        return header

    async def seal_work(self, *, is_long: bool = False) -> Header | None:
        """Seal the next block, unless it has rejected all that it could have included.

        `is_long` says that it takes longer than its gas.
        """
        return await self._seal(is_needed=False, is_long=is_long)

    def failed(self, error: StoreFailed) -> float:
        """Log why a block could not be sealed, once until one is or the reason changes; return when to try again."""
        if str(error) != self._failure:
            logger.error("a block could not be sealed: %s", error)
        self._failure = str(error)
        return RETRY_SECONDS

    async def _seal(self, *, is_needed: bool = True, is_long: bool = False) -> Header | None:
        async with self._sealing:
            sealed = await self._seal_next(is_needed=is_needed, is_long=is_long)
            self._failure = None
            return sealed

    async def _seal_next(self, *, is_needed: bool, is_long: bool) -> Header | None:
        """Seal the next block; one that takes longer than its gas is found out by beginning, and begins again."""
        is_heavy = is_long or self.is_heavy
        if not is_heavy and not self.is_disk_slow:
            try:
                return self._seal_here(WorkBudget(INLINE_GAS), is_needed=is_needed)
            except GasBudgetSpent:
                is_heavy = True
        for _ in range(ATTEMPTS):
            try:
                block = await self._build(on_thread=is_heavy)
            except GasBudgetSpent:
                is_heavy = True
                continue
            if block is not None and block.is_vain and not is_needed:
                self._chain.builder.reject(block)
                return None
            write = None if block is None else self._chain.builder.write_open(block)
            if write is not None:
                await asyncio.get_running_loop().run_in_executor(self._thread, write.sync)
                return self._chain.builder.show(write)
        return self._seal_here(None, is_needed=is_needed)

    async def stop(self) -> None:
        """Wait for the thread: it reads the store, which is closed next."""
        await asyncio.to_thread(self._thread.shutdown, wait=True)

    def _seal_here(self, budget: WorkBudget | None, *, is_needed: bool) -> Header | None:
        if is_needed:
            return self._chain.builder.seal(budget=budget)
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


class LocalSequencer:
    """Seals blocks when their transactions arrive, when the timer says so, and on request.

    Remembers: the senders of pending transactions. Persists: nothing; the chain does. Assumes: one event loop, whose
    thread alone changes the chain. Fails: towards the senders; a block of the timer is tried again, and `problem` says why.
    """

    accepts_known = False

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._sealer = BlockSealer(chain)
        self._automine = Automine(chain, self._sealer)
        self._timer = BackgroundTask("the timer of blocks", self._tick)

    def wake(self) -> None:
        """Seal what is pending, now or in the background, if the mode is automine."""
        if self._chain.schedule.is_automine:
            self._automine.seal()

    def include(self, transaction_hash: Hash32, on_included: OnIncluded) -> None:
        """Seal a transaction with others that arrive in this turn of the event loop, and report it."""
        self._automine.include(transaction_hash, on_included)

    def flush(self) -> None:
        """Seal what is to be included before the turn ends."""
        self._automine.seal_included()

    async def seal(self) -> Header:
        """Seal the next block, even if it is empty; a thread executes a heavy one."""
        return await self._sealer.seal()

    @property
    def problem(self) -> str | None:
        """Why what is due by the clock is not sealed; None if it is."""
        return self._timer.problem

    async def start(self) -> None:
        """Start to seal what is due by the clock."""
        self._timer.start()

    async def stop(self) -> None:
        """Stop sealing; senders whose transactions are in no block get an error."""
        await self._timer.stop()
        await self._automine.stop()
        await self._sealer.stop()

    async def _tick(self) -> None:
        while True:
            pause = TICK_SECONDS
            try:
                if not self._chain.recover():
                    pause = RETRY_SECONDS
                elif self._chain.is_due(time.monotonic()):
                    await self._seal_due()
            except StoreFailed as error:
                pause = self._sealer.failed(error)
            await asyncio.sleep(pause)

    async def _seal_due(self) -> None:
        """Seal a block; one that follows what is sent is not sealed if it would reject all of it."""
        if self._chain.schedule.mode is MiningMode.DELAYED:
            await self._sealer.seal_work()
        else:
            await self._sealer.seal()
