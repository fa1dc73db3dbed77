"""Automine: seal transactions when they arrive, and tell their senders."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from entresol.background_task import cancel
from entresol.chain.events import BLOCK_EVENTS
from entresol.chain.sealing.block_filler import INLINE_GAS
from entresol.errors import GasBudgetSpent, StateMissing, StoreFailed
from entresol.execution.limits import WorkBudget
from entresol.sequencer.block_sealer import RETRY_SECONDS, SEALING_ERRORS, BlockSealer

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.chain.events import Event
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Hash32
    from entresol.sequencer.sequencer import OnIncluded

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
