"""Automine: seal transactions when they arrive, and tell their senders."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from entresol.background_task import cancel
from entresol.chain.events import BLOCK_EVENTS
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
    from entresol.chain.events import Event
    from entresol.chain.sealing.pending_block import OpenBlock
    from entresol.primitives.headers import Header
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Hash32
    from entresol.sequencer.sequencer import OnIncluded


logger = logging.getLogger(__name__)

QUICK_SYNC_SECONDS: Final = 0.01
"""Up to this time of the last write, the event loop waits for the disk: a hop to the thread costs a busy machine more."""

ATTEMPTS: Final = 3
"""How often a block is built on the thread, if the chain changes meanwhile, before it is built on the event loop."""

RETRY_SECONDS: Final = 1.0
"""After which time a block is tried again that could not be sealed: a full disk may have space by then."""

SEALING_ERRORS: Final = (StoreFailed, SystemTransactionFailed, RemoteFailed)
"""Errors that prevent every block: the store, roots that cannot be imported, or the remote of a fork. Each is tried again, and logged once."""


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


logger = logging.getLogger(__name__)


class Automine:
    """Seals what is pending, one block at a time, and reports to senders once their transactions are durable.

    A few light transactions are sealed at the end of the turn of the event loop that brought them, unless the disk is
    slow. Others are sealed in the background, and what arrives meanwhile is for the next block.

    Fails: towards the senders, whose transactions leave the pool, as that of one does which a block rejects, or that
    needs a value which the remote of a fork does not give; a block of deposits alone is tried again.
    """

    def __init__(self, chain: Chain, sealer: BlockSealer) -> None:
        self._chain = chain
        self._sealer = sealer
        self._pending: dict[Hash32, list[OnIncluded]] = {}
        self._task: asyncio.Task[None] | None = None
        self._is_scheduled = False
        self._arrivals = 0
        chain.events.listen(self._on_event, *BLOCK_EVENTS)

    @property
    def is_busy(self) -> bool:
        """Whether blocks are being sealed in the background."""
        return self._task is not None and not self._task.done()

    def seal(self) -> None:
        """Seal what is pending: now, or in the background if deposits are heavy or roots are to be imported.

        An import that fails is not a fault of who wakes the sequencer; it is tried again there.
        """
        self._arrivals += 1
        if self.is_busy:
            return
        if self._chain.filler.roots or self._sealer.has_heavy_queues:
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
        self._arrivals += 1
        if not self._is_scheduled and not self.is_busy:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._seal_turn)

    def seal_included(self) -> None:
        """Seal what is to be included before the turn ends."""
        if self._is_scheduled:
            self._seal_turn()

    def seal_warm(self) -> None:
        """Seal in the background what blocks have left out so far, since what it reads is here."""
        if self.is_busy:
            return
        if self._chain.schedule.is_automine and self._chain.filler.has_work:
            self._start()
        else:
            self._report_rest()

    def drop_cold(self, transaction: Transaction, error: Exception) -> bool:
        """Drop a transaction whose remote has failed, if its sender waits, who gets the error; return whether so."""
        if transaction.hash not in self._pending:
            return False
        self._chain.pool.remove(transaction.hash, str(error))
        self._report(transaction.hash, error)
        return True

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
            if not isinstance(error, SEALING_ERRORS):
                logger.exception("a block could not be sealed")
            self._fail(error)
        self._report_rest()

    def _seal_inline(self) -> bool:
        """Seal what is pending on the event loop; return False if it takes longer than its gas shows.

        Or if a fork has to fetch what each block begins with.
        """
        try:
            self._chain.builder.seal_pending(budget=WorkBudget(INLINE_GAS))
        except (GasBudgetSpent, StateMissing):
            return False
        return True

    async def _seal_all(self, *, is_long: bool) -> None:
        """Seal what is pending; `is_long` says that the next block takes longer than its gas."""
        while self._chain.schedule.is_automine and self._chain.filler.has_work:
            arrivals = self._arrivals
            try:
                header = await self._sealer.seal_work(is_long=is_long)
            except Exception as error:
                if isinstance(error, SEALING_ERRORS):
                    pause = self._sealer.failed(error)
                else:
                    pause = RETRY_SECONDS
                    logger.exception("a block could not be sealed; trying again")
                self._fail(error)
                if self._chain.filler.has_work:
                    await asyncio.sleep(pause)
            else:
                # Nothing of what was pending can be included; what has arrived meanwhile may be.
                if header is not None and not header.gas_used and arrivals == self._arrivals:
                    break
                is_long = False
                # Others have their turn.
                await asyncio.sleep(0)
        self._report_rest()

    def _on_event(self, _event: Event) -> None:
        if self._pending:
            for transaction_hash in self._not_includable():
                self._report(transaction_hash, None)

    def _not_includable(self) -> list[Hash32]:
        """Return the transactions that no next block includes: mostly because the last one has."""
        pool, until = self._chain.pool, {}
        found = []
        for transaction_hash in self._pending:
            transaction = pool.get(transaction_hash)
            if transaction is not None:
                sender = transaction.sender
                if sender not in until:
                    until[sender] = pool.includable_until(sender)
                if transaction.payload.nonce < until[sender]:
                    continue
            found.append(transaction_hash)
        return found

    def _fail(self, error: Exception) -> None:
        """Report an error to all senders whose transactions are in no block, and drop those."""
        for transaction_hash in self._without_cold():
            is_pooled = self._chain.pool.remove(transaction_hash, str(error)) is not None
            self._report(transaction_hash, error if is_pooled else None)

    def _report_rest(self) -> None:
        """Report those that are in no block and will not be for now; what lacks a value of a remote will."""
        for transaction_hash in self._without_cold():
            self._report(transaction_hash, None)

    def _without_cold(self) -> list[Hash32]:
        """Return the pending transactions without those that a fork's blocks leave out for now."""
        cold = self._chain.filler.cold.senders
        if not cold:
            return list(self._pending)
        pooled = ((known, self._chain.pool.get(known)) for known in self._pending)
        return [known for known, found in pooled if found is None or found.sender not in cold]

    def _report_all(self, error: Exception | None) -> None:
        for transaction_hash in list(self._pending):
            self._report(transaction_hash, error)

    def _report(self, transaction_hash: Hash32, error: Exception | None) -> None:
        error = error or self._chain.rejections.of(transaction_hash)
        for on_included in self._pending.pop(transaction_hash, ()):
            on_included(error)
