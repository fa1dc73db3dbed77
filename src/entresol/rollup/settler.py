"""Settle sealed batches on L1: commit, prove, execute."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.errors import ExecutionFailed, LayerOneMismatch, LayerOneRejected
from entresol.l1.custom_errors import failure_reason
from entresol.l1.layer_one import L1Finality
from entresol.primitives.batches import SettlementStep, SettlementTransaction
from entresol.rollup.l1_sync import L1Sync
from entresol.rollup.pending_tx import PendingSettlement, SettlementOperation
from entresol.rollup.settlement_plan import SettlementPlan
from entresol.rollup.tx_manager import TxManager
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
# Errors that pass with time: the batch is too young, or ahead of L1's clock.
_TEMPORARY: Final = ("TimeNotReached", "L2TimestampTooBig")


class SettlementConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Limits and intervals of the settlement."""

    confirmations: int = 0
    """How many L1 blocks must follow one before its settlement transactions make blocks safe or final."""
    finality: L1Finality = "latest"
    """The last L1 block, from which confirmations are counted."""
    max_batches: int = 16
    """How many batches one transaction proves or executes."""
    replace_seconds: float = 30.0
    """How long a transaction may be pending before one with a higher fee replaces it."""
    resend_seconds: float = 1.0
    """How long until a pending transaction is sent again: a reorg of L1 may have dropped it."""
    poll_seconds: float = 0.5


class Settler:
    """Commits, proves and executes sealed batches on L1.

    Remembers: why it stopped. Persists: the pending transaction and the transaction of each step.
    The next operation follows from L1's totals, so a crash, a reorg of L1 or a revert of the chain
    neither repeats nor skips one. Assumes: the thread that changes the chain, and that the operator's
    account has no other user. Fails: an operation that reverts, or would, stops it (`stopped`) until
    `resume`; an L1 that is unreachable or differs is retried (`problem`). The chain goes on either way.
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
        self._config = config = config or SettlementConfig()
        self._batches = chain.batches
        self._l1 = contract.l1
        self._contract = contract
        self._on_settled = on_settled
        self._l1_sync = L1Sync(chain, contract, config.confirmations, config.finality)
        self._plan = SettlementPlan(
            chain.rules.chain_id, chain.blocks, contract.address, self._l1_sync, config.max_batches
        )
        self._transactions = TxManager(
            chain.batches,
            contract.l1,
            operator,
            timelock,
            resend_seconds=config.resend_seconds,
            replace_seconds=config.replace_seconds,
        )
        self._worker = Worker(
            self._poll,
            log,
            failing="cannot settle batches",
            backoff=Backoff(2 * config.poll_seconds),
            wait=self._wait,
        )
        # `settle` must not sign a transaction while `run` does.
        self._lock = asyncio.Lock()
        self._stopped_by: tuple[int, bytes] = (0, b"")
        self.stopped: str | None = None
        """Why settlement stopped, until `resume`."""

    @property
    def problem(self) -> str | None:
        """Why batches cannot be settled at the moment."""
        return self._worker.problem or self._transactions.problem

    @property
    def pending(self) -> PendingSettlement | None:
        """The pending transaction, with every attempt."""
        return self._transactions.pending

    @property
    def is_fee_limited(self) -> bool:
        """Whether the pending transaction is stuck, and a limit forbids a higher fee."""
        return self._transactions.is_fee_limited

    @property
    def totals(self) -> BatchTotals:
        """L1's totals when they were last read."""
        return self._l1_sync.totals

    def wake(self) -> None:
        """Check for work at once: there is a new batch."""
        self._worker.wake()

    def resume(self) -> None:
        """Retry the operation that stopped it."""
        self.stopped = None
        self.wake()

    async def run(self) -> None:
        """Settle for ever."""
        await self._worker.run()

    async def step(self, now: float) -> bool:
        """Send or follow one transaction, and say whether there may be more to do at once."""
        async with self._lock:
            totals = await self._l1_sync.refresh()
            pending = self._transactions.pending
            if pending is not None:
                return await self._follow(pending, totals, now)
            if self._is_stopped():
                return False
            operation = self._plan.next_operation(totals)
            if operation is None:
                return False
            await self._send(operation, now)
            return True

    async def settle(
        self, step: SettlementStep, number: int, clock: Callable[[], float] = time.monotonic
    ) -> SettlementTransaction:
        """Do a step of one batch now, also out of turn or when stopped; raises why it fails."""
        self.stopped = None
        while self._transactions.pending is not None:
            await self._step_or_wait(clock())
        if (by := self._batches.settled(number, step)) is not None:
            return by
        async with self._lock:
            await self._l1_sync.refresh()
            if self._transactions.pending is None:
                await self._send(SettlementOperation(step, number, number), clock())
        while (by := self._batches.settled(number, step)) is None:
            await self._step_or_wait(clock())
        return by

    # The loop

    async def _poll(self) -> float:
        more = await self.step(time.monotonic())
        return 0.0 if more else self._config.poll_seconds

    async def _wait(self, seconds: float) -> None:
        if self._worker.problem is None and self._transactions.pending is not None:
            # The next block may include it.
            await self._l1.wait_for_block(seconds)
        else:
            await self._worker.sleep(seconds)

    async def _step_or_wait(self, now: float) -> None:
        """Run a step, and wait if there is no more to do; raises why settlement stopped."""
        if self.stopped is not None:
            raise LayerOneMismatch(self.stopped)
        if not await self.step(now):
            await self._l1.wait_for_block(self._config.poll_seconds)
        if self.stopped is not None:
            raise LayerOneMismatch(self.stopped)

    # The pending transaction

    async def _send(self, operation: SettlementOperation, now: float) -> None:
        try:
            signed = await self._sign(operation)
        except ExecutionFailed as failure:
            self._stop(operation, failure_reason(failure))
        else:
            await self._transactions.send(operation, signed, self._l1_sync.head, now)

    async def _sign(self, operation: SettlementOperation) -> SignedTransaction:
        """Sign the call of an operation; raises what it fails with, if it fails twice."""
        call = self._plan.call(operation)
        try:
            return await self._transactions.sign(call)
        except ExecutionFailed as failure:
            await self._raise_if_temporary(operation, failure)
        # The nodes behind one URL may be a block apart, and a reorg of L1 may bring back what it removed.
        try:
            return await self._transactions.sign(call)
        except ExecutionFailed as failure:
            await self._raise_if_temporary(operation, failure)
            raise

    async def _raise_if_temporary(
        self, operation: SettlementOperation, failure: ExecutionFailed
    ) -> None:
        """Raise a retryable error for a failure that passes with time, or comes from a reorg."""
        reason = failure_reason(failure)
        if reason.startswith(_TEMPORARY):
            raise LayerOneRejected(operation.step.name.lower(), _REVERTED, reason) from failure
        if await self._contract.totals() != self._l1_sync.totals:
            raise LayerOneMismatch(f"reorg of {self._l1.name}: {reason}") from failure

    async def _follow(self, pending: PendingSettlement, totals: BatchTotals, now: float) -> bool:
        # Read before the receipts: a block in between must not use the nonce without its receipt.
        nonce = await self._transactions.nonce()
        receipt = await self._transactions.receipt(pending)
        if receipt is not None:
            await self._finish(pending.operation, receipt)
        elif totals.last(pending.step) >= pending.last:
            # Another account did it; `L1Sync` finds its transaction.
            self._transactions.drop()
        elif nonce != pending.nonce:
            # Another transaction has used it, or a reorg removed an earlier one.
            log.warning(
                "nonce %d is not the operator's next any more: signing again", pending.nonce
            )
            self._transactions.drop()
        else:
            await self._transactions.resend(pending, self._l1_sync.head, now)
            return False
        return True

    async def _finish(self, operation: SettlementOperation, receipt: L1Receipt) -> None:
        if not receipt.succeeded:
            await self._handle_revert(operation, receipt)
            return
        step, first, last = operation
        if not self._l1_sync.is_recorded(step, first - 1):
            # A reorg hid the earlier batches for a moment; the next refresh records them again.
            return
        by = await self._l1_sync.settlement_of(receipt)
        numbers = range(first, last + 1)
        self._batches.settle(numbers, step, by)
        level = logging.INFO if step is SettlementStep.EXECUTE else logging.DEBUG
        log.log(level, "%s: L1 transaction %s", operation, receipt.transaction_hash)
        for number in numbers:
            self._on_settled(step, number)

    async def _handle_revert(self, operation: SettlementOperation, receipt: L1Receipt) -> None:
        """Stop because of a transaction that reverted, unless a reorg of L1 is the cause."""
        # The totals from before the receipt may be of blocks that a reorg removed.
        if not operation.is_next(await self._contract.totals()):
            log.warning("%s failed because of a reorg of L1", operation)
        else:
            call = self._plan.call(operation)
            self._stop(operation, await self._transactions.revert_reason(call, receipt))
        self._transactions.drop()

    # Stopping

    def _stop(self, operation: SettlementOperation, reason: str) -> None:
        self._stopped_by = operation.first, self._l1_sync.batch(operation.first).state_root
        self.stopped = f"{operation} failed: {reason}"
        log.error("settlement stopped: %s", self.stopped)

    def _is_stopped(self) -> bool:
        """Say whether it is stopped by a batch that the chain still has."""
        if self.stopped is None:
            return False
        number, root = self._stopped_by
        batch = self._batches.get(number)
        if batch is None or batch.state_root != root:
            log.info("settlement resumes: the batch that stopped it was reverted")
            self.stopped = None
        return self.stopped is not None
