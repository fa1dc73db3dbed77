"""Do the settlement steps of one key: send the next operation, and follow it until L1 has it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.errors import EntresolError, ExecutionFailed, LayerOneMismatch, LayerOneRejected
from entresol.l1.custom_errors import failure_reason
from entresol.primitives.batches import SettlementStep

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from entresol.l1.contracts import BatchTotals, ZkChain
    from entresol.l1.layer_one import L1Block, L1Receipt
    from entresol.l1.operator import SignedTransaction
    from entresol.rollup.settlement.l1_sync import L1Sync
    from entresol.rollup.settlement.pending_tx import PendingSettlement, SettlementOperation
    from entresol.rollup.settlement.settlement_plan import SettlementPlan
    from entresol.rollup.settlement.tx_manager import TxManager

log = logging.getLogger(__name__)

_REVERTED: Final = 3
# Errors that pass with time: the batch is too young, or ahead of L1's clock.
_TEMPORARY: Final = ("TimeNotReached", "L2TimestampTooBig")


class StepHooks(NamedTuple):
    """Who is told what a sender does."""

    on_settled: Callable[[SettlementStep, int], None]
    """A step of a batch is on L1."""
    on_sent: Callable[[SettlementOperation], None]
    """L1 says that an operation would succeed, and it is sent."""
    on_stopped: Callable[[SettlementOperation, str], None]
    """An operation reverts, or would."""


class StepSender:
    """Sends and follows the settlement transactions of one key.

    Remembers: the last failure. Persists: through `TxManager`, the pending transaction and the transaction of
    each step. Fails: as `LayerOne` does; an operation that reverts, or would, is reported to `on_stopped`.
    """

    def __init__(
        self,
        transactions: TxManager,
        plan: SettlementPlan,
        l1_sync: L1Sync,
        contract: ZkChain,
        hooks: StepHooks,
    ) -> None:
        self.transactions = transactions
        self._plan = plan
        self._l1_sync = l1_sync
        self._l1 = contract.l1
        self._contract = contract
        self._hooks = hooks
        self.failure: EntresolError | None = None
        """What the last `advance` failed with."""

    @property
    def steps(self) -> Sequence[SettlementStep]:
        """The steps that the key does."""
        return self.transactions.steps

    @property
    def problem(self) -> str | None:
        """Why its steps are not done at the moment."""
        return self.transactions.problem if self.failure is None else str(self.failure)

    @property
    def _head(self) -> L1Block:
        head = self._l1_sync.head
        assert head is not None, "L1 is read before a transaction is signed or followed"
        return head

    async def advance(self, totals: BatchTotals, now: float, *, may_send: bool) -> bool:
        """Follow the pending transaction, or send the next one; return whether there may be more to do at once."""
        pending = self.transactions.pending
        if pending is not None:
            return await self._follow(pending, totals, now)
        operation = self._plan.next_operation(self.steps) if may_send else None
        if operation is None or await self.transactions.is_calling(now):
            return False
        await self.send(operation, now)
        return True

    async def send(self, operation: SettlementOperation, now: float) -> None:
        """Sign and send the transaction of an operation."""
        try:
            signed = await self._sign(operation)
        except ExecutionFailed as failure:
            self._hooks.on_stopped(operation, failure_reason(failure))
        else:
            self._hooks.on_sent(operation)
            await self.transactions.send(operation, signed, self._head.number, now)

    async def _sign(self, operation: SettlementOperation) -> SignedTransaction:
        """Sign the call of an operation; raises what it fails with, if it fails twice."""
        call, totals = self._plan.call(operation), self._l1_sync.totals
        try:
            return await self.transactions.sign(call, self._head.hash)
        except ExecutionFailed as failure:
            _raise_if_temporary(operation, failure)
            # A reorg of L1 may bring back what it removed.
            if await self._l1_sync.refresh() != totals:
                reason = failure_reason(failure)
                raise LayerOneMismatch(f"reorg of {self._l1.name}: {reason}") from failure
        try:
            return await self.transactions.sign(call, self._head.hash)
        except ExecutionFailed as failure:
            _raise_if_temporary(operation, failure)
            raise

    async def _follow(self, pending: PendingSettlement, totals: BatchTotals, now: float) -> bool:
        # Read before the receipts: a block in between must not use the nonce without its receipt.
        nonce = await self.transactions.nonce(self._head.hash)
        receipt = await self.transactions.receipt(pending)
        if receipt is not None:
            await self._finish(pending, receipt)
        elif totals.last(pending.step) >= pending.last:
            # Another account did it; `L1Sync` finds its transaction.
            await self.transactions.drop(pending)
        elif not self.transactions.is_own(pending):
            log.warning(
                "%s was signed with the key of %s: signing again with that of %s",
                *(pending.operation, pending.sender.checksummed()),
                self.transactions.address.checksummed(),
            )
            await self.transactions.drop(pending)
        elif nonce != pending.nonce:
            # Another transaction has used it, or a reorg removed an earlier one.
            log.warning(
                "nonce %d is not the operator's next any more: signing again", pending.nonce
            )
            await self.transactions.drop(pending)
        elif self._must_wait(pending.operation, totals):
            return False
        else:
            await self.transactions.resend(pending, self._head, now)
            return False
        return True

    def _must_wait(self, operation: SettlementOperation, totals: BatchTotals) -> bool:
        """Return whether a reorg removed steps that only other keys can do again; until then it would revert."""
        missing = operation.missing(totals)
        return bool(missing) and not any(step in self.steps for step in missing)

    async def _finish(self, pending: PendingSettlement, receipt: L1Receipt) -> None:
        operation = pending.operation
        if not receipt.succeeded:
            await self._handle_revert(operation, receipt)
            await self.transactions.drop(pending)
            return
        if not self._l1_sync.is_recorded(operation.step, operation.first - 1):
            # A reorg hid the earlier batches for a moment; the next refresh records them again.
            return
        await self.transactions.settle(operation, await self._l1_sync.settlement_of(receipt))
        level = logging.INFO if operation.step is SettlementStep.EXECUTE else logging.DEBUG
        log.log(level, "%s: L1 transaction %s", operation, receipt.transaction_hash)
        for number in operation.batches:
            self._hooks.on_settled(operation.step, number)

    async def _handle_revert(self, operation: SettlementOperation, receipt: L1Receipt) -> None:
        """Stop because of a transaction that reverted, unless a reorg of L1 is the cause."""
        # The totals from before the receipt may be of blocks that a reorg removed, and those of now of a node that
        # lags. A reorg may also have put the transaction before the one of another key that it builds on.
        for block in (None, receipt.block_hash, receipt.block_number - 1):
            if not operation.is_next(await self._contract.totals(block)):
                log.warning("%s failed because of a reorg of L1", operation)
                return
        call = self._plan.call(operation)
        self._hooks.on_stopped(operation, await self.transactions.revert_reason(call, receipt))


def _raise_if_temporary(operation: SettlementOperation, failure: ExecutionFailed) -> None:
    """Raise a retryable error for a failure that passes with time."""
    reason = failure_reason(failure)
    if reason.startswith(_TEMPORARY):
        raise LayerOneRejected(operation.step.name.lower(), _REVERTED, reason) from failure
