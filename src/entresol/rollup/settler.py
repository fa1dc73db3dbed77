"""Settling batches on L1: commit, prove, execute, one transaction at a time."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.errors import (
    ExecutionFailed,
    LayerOneMismatch,
    LayerOneRejected,
)
from entresol.l1.custom_errors import failure_reason
from entresol.primitives.batches import SettlementStep, SettlementTransaction
from entresol.rollup.l1_sync import L1Sync
from entresol.rollup.pending_tx import PendingSettlement, done, named
from entresol.rollup.settlement_plan import SettlementPlan
from entresol.rollup.worker import Backoff, Worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.chain.chain import Chain
    from entresol.l1.contracts import BatchTotals, ZkChain
    from entresol.l1.layer_one import L1Receipt
    from entresol.l1.operator import Operator, SignedTransaction
    from entresol.primitives.values import Address

log = logging.getLogger(__name__)

_REVERTED: Final = 3
# What the contracts reject only for now: a batch that is too young, or ahead of L1's clock.
_PASSING: Final = ("TimeNotReached", "L2TimestampTooBig")


class SettlementConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How batches are settled."""

    confirmations: int = 0
    """How many L1 blocks must stand on one before what it settled counts as safe or final."""
    max_batches: int = 16
    """How many batches are proven or executed by one transaction."""
    replace_seconds: float = 30.0
    """How long a transaction may wait for a block before it is replaced by one that pays more."""
    resend_seconds: float = 1.0
    """How long until one is sent again as it is: a layer 1 that goes back forgets what waited."""
    poll_seconds: float = 0.5


class Settler:
    """Brings sealed batches to L1.

    Remembers: since when it waits for a transaction. Persists: the transaction under way, before it
    is sent, and each step that is done; what is to be done next is what L1's totals say, so that
    nothing is sent twice or forgotten, whenever the process ends and whichever layer goes back.
    Assumes: the thread that changes the chain, and that nobody else uses the operator's account.
    Fails: a transaction that reverts, or would, stops it (`stopped` says why) until `resume`; an L1
    that is away or tells another story is looked at again (`problem`). The chain goes on either way.
    """

    def __init__(
        self,
        chain: Chain,
        contract: ZkChain,
        operator: Operator,
        timelock: Address,
        config: SettlementConfig | None = None,
        *,
        on_settled: Callable[[SettlementStep, int], None] = lambda _step, _batch: None,
    ) -> None:
        self._batches = chain.batches
        self._l1 = contract.l1
        self._contract = contract
        self._operator = operator
        self._timelock = timelock
        self._config = config or SettlementConfig()
        self._on_settled = on_settled
        self._l1_sync = L1Sync(chain, contract, self._config.confirmations)
        self._plan = SettlementPlan(
            chain.rules.chain_id,
            chain.blocks,
            contract.address,
            self._l1_sync,
            self._config.max_batches,
        )
        self._sent_at: float | None = None
        self._pushed_at = 0.0
        self._stopped_on: tuple[int, bytes] = (0, b"")
        self._worker = Worker(
            self._poll,
            log,
            failing="cannot settle batches",
            backoff=Backoff(2 * self._config.poll_seconds),
            wait=self._wait,
        )
        # Who settles by hand must not sign beside `run`.
        self._turn = asyncio.Lock()
        self.stopped: str | None = None
        """Why nothing is settled any more."""

    @property
    def problem(self) -> str | None:
        """Why batches cannot be settled at the moment."""
        return self._worker.problem

    @property
    def totals(self) -> BatchTotals:
        """How many batches L1 had when it was asked last."""
        return self._l1_sync.totals

    def wake(self) -> None:
        """Look for work at once: there is a new batch."""
        self._worker.wake()

    def resume(self) -> None:
        """Try again what stopped it."""
        self.stopped = None
        self.wake()

    async def step(self, now: float) -> bool:
        """Do the next thing, and say whether there may be more to do at once."""
        async with self._turn:
            return await self._step(now)

    async def _step(self, now: float) -> bool:
        totals = await self._l1_sync.compare()
        journal = self._batches.pending_settlement()
        if journal is not None:
            return await self._follow(PendingSettlement.decode(journal), totals, now)
        if self._is_stopped():
            return False
        due = self._plan.due(totals)
        if due is None:
            return False
        await self._send(*due, now)
        return True

    async def settle(
        self, step: SettlementStep, number: int, clock: Callable[[], float] = time.monotonic
    ) -> SettlementTransaction:
        """Do a step of one batch now, whatever else is due; raises why it cannot be done.

        Who asks for it wants it tried, also if the last attempt stopped everything.
        """
        self.stopped = None
        while self._batches.pending_settlement() is not None:
            await self._wait_for_step(clock())
        if (by := self._batches.settled(number, step)) is not None:
            return by
        async with self._turn:
            await self._l1_sync.compare()
            if self._batches.pending_settlement() is None:
                await self._send(step, number, number, clock())
        while (by := self._batches.settled(number, step)) is None:
            await self._wait_for_step(clock())
        return by

    async def run(self) -> None:
        """Settle for ever."""
        await self._worker.run()

    async def _poll(self) -> float:
        more = await self.step(time.monotonic())
        return 0.0 if more else self._config.poll_seconds

    async def _wait(self, seconds: float) -> None:
        if self.problem is None and self._batches.pending_settlement() is not None:
            # The next block may have it.
            await self._l1.wait_for_block(seconds)
        else:
            await self._worker.sleep(seconds)

    # The transaction under way

    async def _send(self, step: SettlementStep, first: int, last: int, now: float) -> None:
        try:
            outgoing = await self._prepared(step, self._plan.call(step, first, last))
        except ExecutionFailed as failure:
            self._stop(step, first, last, failure_reason(failure))
            return
        self._batches.set_pending_settlement(
            PendingSettlement.open(step, first, last, outgoing).encode()
        )
        self._sent_at = self._pushed_at = now
        await self._operator.send(outgoing)

    async def _prepared(self, step: SettlementStep, call: bytes) -> SignedTransaction:
        """Sign the call of a step; raises what it fails with, if it does so twice."""
        try:
            return await self._operator.sign_call(self._timelock, call)
        except ExecutionFailed as failure:
            await self._see_that_it_stands(step, failure)
        # The nodes behind one URL may be a block apart, and L1 may have gone back and come again.
        try:
            return await self._operator.sign_call(self._timelock, call)
        except ExecutionFailed as failure:
            await self._see_that_it_stands(step, failure)
            raise

    async def _see_that_it_stands(self, step: SettlementStep, failure: ExecutionFailed) -> None:
        """Raise that a failure is none, if it is only for now or because L1 went back meanwhile."""
        reason = failure_reason(failure)
        if reason.startswith(_PASSING):
            raise LayerOneRejected(step.name.lower(), _REVERTED, reason) from failure
        if await self._contract.totals() != self._l1_sync.totals:
            raise LayerOneMismatch(f"{self._l1.name} went back meanwhile: {reason}") from failure

    async def _follow(self, journal: PendingSettlement, totals: BatchTotals, now: float) -> bool:
        # Asked first, so that a block that comes now cannot have the nonce without the receipt.
        nonce = await self._l1.nonce(self._operator.address)
        for outgoing in journal.outgoing():
            receipt = await self._l1.receipt(outgoing.hash)
            if receipt is not None:
                await self._finish(journal, receipt)
                return True
        if done(totals, journal.step) >= journal.last:
            # Somebody did it; `L1Sync` finds out by which transaction.
            self._batches.set_pending_settlement(None)
            return True
        if nonce != journal.nonce:
            # Another transaction has it now, or L1 went back and misses one before it.
            log.warning("nonce %d of the operator is not its next: signing anew", journal.nonce)
            self._batches.set_pending_settlement(None)
            return True
        await self._push(journal, now)
        return False

    async def _push(self, journal: PendingSettlement, now: float) -> None:
        """Send a transaction again, since L1 may have lost it, or a dearer one if it waits for too long."""
        outgoing = journal.outgoing()[0]
        if self._sent_at is None:
            self._sent_at = now
        elif now - self._sent_at >= self._config.replace_seconds:
            outgoing = await self._operator.sign_replacement(outgoing)
            log.warning("offering more for %s: no block takes it", journal)
            self._batches.set_pending_settlement(journal.with_attempt(outgoing).encode())
            self._sent_at = now
        elif now - self._pushed_at < self._config.resend_seconds:
            return
        self._pushed_at = now
        await self._operator.send(outgoing)

    async def _finish(self, journal: PendingSettlement, receipt: L1Receipt) -> None:
        if not receipt.succeeded:
            await self._give_up(journal, receipt)
            return
        if not self._l1_sync.has_noted(journal.step, journal.first - 1):
            # L1 seemed to have less a moment ago; that is put right by the next comparison.
            return
        by = await self._l1_sync.placed(receipt)
        numbers = range(journal.first, journal.last + 1)
        self._batches.settle(numbers, journal.step, by)
        self._sent_at = None
        level = logging.INFO if journal.step is SettlementStep.EXECUTE else logging.DEBUG
        log.log(level, "%s: L1 transaction %s", journal, receipt.transaction_hash)
        for number in numbers:
            self._on_settled(journal.step, number)

    async def _give_up(self, journal: PendingSettlement, receipt: L1Receipt) -> None:
        """Stop because of a transaction that failed, unless it was L1 that went back before it."""
        # What was known of L1 before there was a receipt may be of blocks that are gone.
        if not journal.is_due(await self._contract.totals()):
            log.warning("%s failed, because L1 went back meanwhile", journal)
        else:
            reason = await self._reason(journal, receipt)
            self._stop(journal.step, journal.first, journal.last, reason)
        self._batches.set_pending_settlement(None)

    async def _reason(self, journal: PendingSettlement, receipt: L1Receipt) -> str:
        """Run a reverted transaction once more, to hear why."""
        call = self._plan.call(journal.step, journal.first, journal.last)
        try:
            await self._l1.call(
                self._timelock,
                call,
                sender=self._operator.address,
                block=receipt.block_number - 1,
            )
        except ExecutionFailed as failure:
            return failure_reason(failure)
        return f"transaction {receipt.transaction_hash} failed, and would not any more"

    # Trouble

    def _is_stopped(self) -> bool:
        """Say whether it is stopped by a batch that the chain still has."""
        if self.stopped is None:
            return False
        number, root = self._stopped_on
        batch = self._batches.get(number)
        if batch is None or batch.state_root != root:
            log.info("settlement goes on: the batch that stopped it is gone")
            self.stopped = None
        return self.stopped is not None

    def _stop(self, step: SettlementStep, first: int, last: int, reason: str) -> None:
        self._stopped_on = first, self._l1_sync.batch(first).state_root
        self.stopped = f"{named(step, first, last)} failed: {reason}"
        log.error("settlement stops: %s", self.stopped)

    async def _wait_for_step(self, now: float) -> None:
        if self.stopped is not None:
            raise LayerOneMismatch(self.stopped)
        if not await self.step(now):
            await self._l1.wait_for_block(self._config.poll_seconds)
        if self.stopped is not None:
            raise LayerOneMismatch(self.stopped)
