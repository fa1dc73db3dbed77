"""Do the settlement steps of one key: send the next operation, and follow it until L1 has it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from entresol.errors import EntresolError, ExecutionFailed, LayerOneMismatch, LayerOneRejected
from entresol.l1.contracts import failure_reason
from entresol.l1.tx_manager import TxManager
from entresol.primitives.batches import SettlementStep
from entresol.primitives.interop_roots import ENCODED_ROOT_BYTES
from entresol.primitives.transactions.priority import MAX_PRIORITY_TRANSACTIONS
from entresol.rollup.batches import (
    commit_info_of,
    imported_roots_of,
    priority_ops_of,
    stored_info_of,
)
from entresol.rollup.commitments import commit_data, encode_call, execute_data, proof_data
from entresol.rollup.settlement.pending_tx import PendingSettlement, SettlementOperation

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from entresol.l1.contracts import BatchTotals, ZkChain
    from entresol.l1.layer_one import L1Block, L1Receipt
    from entresol.l1.operator import Operator, SignedTransaction
    from entresol.primitives.batches import Batch, SettlementTransaction
    from entresol.primitives.values import Address, Hash32
    from entresol.rollup.settlement.l1_sync import L1Sync
    from entresol.rollup.settlement.pending_tx import PendingSettlements, SettlementOperation
    from entresol.rollup.step_loop import Backoff
    from entresol.storage.batch_table import BatchTable
    from entresol.storage.store_view import StoreView


MAX_EXECUTE_BYTES: Final = 120_000
"""How much one transaction lists: nodes of L1 take none above 128 KiB."""
_BATCH_BYTES: Final = 5_120
"""A batch without priority transactions and roots: its fields, offsets and lengths, and two paths of 64 hashes."""
_PRIORITY_BYTES: Final = 32

log = logging.getLogger(__name__)


class SettlementPlan:
    """Decides which operation comes next, and encodes its call."""

    def __init__(  # noqa: PLR0913 - independent parts
        self,
        chain_id: int,
        blocks: StoreView,
        contract: Address,
        l1_sync: L1Sync,
        max_batches: int,
        *,
        contradicted_block: Callable[[], int | None] = lambda: None,
        may_begin: Callable[[], bool] = lambda: True,
    ) -> None:
        """Take the parts; `contradicted_block` is the first block with a root that L1 has replaced, if there is one.

        The first batch is committed once it `may_begin`.
        """
        self._chain_id = chain_id
        self._blocks = blocks
        self._contract = contract
        self._l1_sync = l1_sync
        self._max_batches = max_batches
        self._contradicted_block = contradicted_block
        self._may_begin = may_begin

    def next_operation(self, steps: Collection[SettlementStep]) -> SettlementOperation | None:
        """Return the next operation that is one of `steps`; None if L1 has not yet what it builds on."""
        committed, verified, executed = map(self._l1_sync.last_recorded, SettlementStep)
        if (
            SettlementStep.COMMIT in steps
            and committed < min(self._l1_sync.sealed, executed + self._max_batches)
            and not self._is_contradicted(committed + 1)
            and (committed or self._may_begin())
        ):
            return SettlementOperation(SettlementStep.COMMIT, committed + 1, committed + 1)
        if SettlementStep.PROVE in steps and verified < committed:
            last = min(committed, verified + self._max_batches)
            return SettlementOperation(SettlementStep.PROVE, verified + 1, last)
        if SettlementStep.EXECUTE in steps and executed < verified:
            last = min(verified, executed + self._max_batches)
            last = self._last_executable(executed + 1, last)
            return SettlementOperation(SettlementStep.EXECUTE, executed + 1, last)
        return None

    def call(self, operation: SettlementOperation) -> bytes:
        """Return the call of the timelock that does an operation."""
        step, first, last = operation
        chain_id = self._chain_id
        batches = [self._l1_sync.batch(number) for number in range(first, last + 1)]
        stored = [stored_info_of(batch, chain_id) for batch in batches]
        previous = stored_info_of(self._l1_sync.batch(first - 1), chain_id)
        if step is SettlementStep.COMMIT:
            if self._is_contradicted(first):
                # L1 would take it, and then never execute it, nor what follows.
                raise LayerOneMismatch(f"batch {first} imports a root that L1 has replaced")
            published = self._l1_sync.data(batches[0])
            data = commit_data(previous, commit_info_of(batches[0], chain_id, published))
        elif step is SettlementStep.PROVE:
            data = proof_data(previous, stored)
        else:
            operations = [priority_ops_of(self._blocks, batch) for batch in batches]
            roots = [imported_roots_of(self._blocks, batch) for batch in batches]
            data = execute_data(stored, operations, roots)
        return encode_call(step.name.lower(), self._contract, first, last, data)

    def _is_contradicted(self, number: int) -> bool:
        """Return whether a batch has a root that L1 has replaced, or comes after one."""
        block = self._contradicted_block()
        return block is not None and self._l1_sync.batch(number).last_block >= block

    def _last_executable(self, first: int, last: int) -> int:
        """Return the last batch up to which one transaction can list all priority requests and roots."""
        requests = size = 0
        for number in range(first, last + 1):
            batch = self._l1_sync.batch(number)
            requests += batch.l1_transactions
            size += _encoded_size(batch)
            is_full = requests > MAX_PRIORITY_TRANSACTIONS or size > MAX_EXECUTE_BYTES
            if is_full and number > first:
                return number - 1
        return last


def _encoded_size(batch: Batch) -> int:
    """Return an upper bound of what a batch adds to the transaction that executes it."""
    listed = batch.l1_transactions * _PRIORITY_BYTES + batch.interop_roots * ENCODED_ROOT_BYTES
    return _BATCH_BYTES + listed


class SettlementStop:
    """Stops settlement after an operation that reverts, or would, until L1 says that it would not any more."""

    def __init__(self, batches: BatchTable, l1_sync: L1Sync, backoff: Backoff) -> None:
        self._batches = batches
        self._l1_sync = l1_sync
        self._backoff = backoff
        self._pause = backoff.first()
        self._by: tuple[SettlementOperation, bytes] | None = None
        self._until = 0.0
        self.now = 0.0
        """The time of the current step."""
        self.reason: str | None = None
        """Why it is stopped."""

    def on_reverted(self, operation: SettlementOperation, reason: str) -> None:
        """Stop because of an operation."""
        before, self.reason = self.reason, f"{operation} failed: {reason}"
        self._by = operation, self._l1_sync.batch(operation.first).state_root
        self._until = self.now + self._pause
        if self.reason != before:
            log.error("settlement stopped: %s", self.reason)

    def on_sent(self, operation: SettlementOperation) -> None:
        """Go on if this stopped it: L1 says that it would not revert now."""
        stopped_by = self._by and self._by[0]
        if stopped_by is None or operation[:2] != stopped_by[:2]:
            return
        self._pause = self._backoff.after(self._pause)
        if self.reason is not None:
            log.info("settlement resumes with the %s", operation)
        self.reason = None

    def may_send(self, steps: Collection[SettlementStep]) -> bool:
        """Return whether a key with these steps may send: not while stopped, but to try again what stopped it."""
        if self._by is None:
            return True
        (step, first, _), root = self._by
        batch, is_done = self._batches.get(first), self._l1_sync.totals.last(step) >= first
        if batch is None or batch.state_root != root or is_done:
            if self.reason is not None:
                log.info("settlement resumes: what stopped it is done, or its batch was reverted")
            self.reason = self._by = None
            self._pause = self._backoff.first()
        if self.reason is None:
            return True
        return self.now >= self._until and step in steps

    def lift(self) -> None:
        """Go on at once."""
        self.reason = None


log = logging.getLogger(__name__)

_REVERTED: Final = 3
# Errors that pass with time: the batch is too young, or ahead of L1's clock.
_TEMPORARY: Final = ("TimeNotReached", "L2TimestampTooBig")


class StepTransactions(TxManager):
    """The settlement transactions of one key: at most one is pending, for any of the key's steps.

    Remembers: the last call that settles nothing. Persists: the pending transaction and every attempt that was signed
    for it, before it is sent, so that a restart follows and resends the same ones.
    """

    def __init__(
        self,
        journal: PendingSettlements,
        operator: Operator,
        steps: Sequence[SettlementStep],
        timelock: Address,
        *,
        resend_seconds: float,
        replace_seconds: float,
    ) -> None:
        super().__init__(operator, resend_seconds=resend_seconds, replace_seconds=replace_seconds)
        self._journal = journal
        self.steps = steps
        self._timelock = timelock
        self._call: SignedTransaction | None = None
        self._called_at = 0.0

    @property
    def pending(self) -> PendingSettlement | None:
        """The pending transaction, with every attempt.

        One of another key, which did the step before, comes first: it is never sent again.
        """
        stored = map(self._journal.pending, self.steps)
        pending = [settlement for settlement in stored if settlement is not None]
        return min(pending, key=self.is_own, default=None)

    @property
    def attempts(self) -> Sequence[SignedTransaction]:
        """The attempts of the pending transaction, the one with the highest fee first."""
        pending = self.pending
        return () if pending is None else pending.transactions()

    @property
    def calling(self) -> Hash32 | None:
        """The last call that settles nothing, until L1 includes it or it is given up."""
        return None if self._call is None else self._call.hash

    def is_own(self, pending: PendingSettlement) -> bool:
        """Return whether this key signed a transaction."""
        return pending.sender == self.address

    async def sign(self, call: bytes, block: Hash32) -> SignedTransaction:
        """Sign a call of the timelock that follows a block of L1; raises what it would fail with."""
        return await self.operator.sign_call(self._timelock, call, block=block)

    async def send_step(
        self, operation: SettlementOperation, signed: SignedTransaction, head: int, now: float
    ) -> None:
        """Persist the transaction of an operation as pending, and send it."""
        await self._journal.persist(PendingSettlement.of(operation, signed))
        await self._begin(signed, head, now)

    async def _persist(self, attempt: SignedTransaction) -> None:
        pending = self.pending
        assert pending is not None, "only what is pending has another attempt"
        await self._journal.persist(pending.with_attempt(attempt))

    async def send_call(self, to: Address, data: bytes, now: float, *, value: int = 0) -> Hash32:
        """Sign and send a call that settles nothing, while nothing is pending."""
        signed = await self.operator.sign_call(to, data, value=value)
        self._call, self._called_at = signed, now
        try:
            await self.operator.send(signed)
        except LayerOneRejected:
            # It would be rejected again, and nothing else have the nonce.
            self._call = None
            raise
        await self.follow_call()
        return signed.hash

    async def follow_call(self) -> None:
        """Forget a call that L1 has included, so that it is not sent again if L1 is reverted to before it."""
        call = self._call
        if call is not None and await self.nonce() > call.nonce:
            self._call = None

    async def is_calling(self, now: float) -> bool:
        """Return whether a call that settles nothing has the next nonce; it is sent again, and given up in the end."""
        call = self._call
        if call is None:
            return False
        is_over = now - self._called_at >= self._replace_seconds
        # It is higher if L1 has included the call or another one, and lower if L1 was reverted.
        if is_over or await self.nonce() != call.nonce:
            self._call = None
            return False
        await self.operator.send(call)
        return True

    async def drop(self, pending: PendingSettlement) -> None:
        """Stop following a transaction."""
        await self._journal.drop(pending.step)

    async def settle(self, operation: SettlementOperation, by: SettlementTransaction) -> None:
        """Record the transaction that did an operation, which is no longer pending then."""
        await self._journal.settle(operation.batches, operation.step, by)

    async def revert_reason(self, call: bytes, receipt: L1Receipt) -> str:
        """Repeat a reverted call on the block before it, and return what it reverts with."""
        block = receipt.block_number - 1
        try:
            await self._l1.call(self._timelock, call, sender=self.address, block=block)
        except ExecutionFailed as failure:
            return failure_reason(failure)
        return f"transaction {receipt.transaction_hash} reverted, and the call does not now"


class StepSender:
    """Sends and follows the settlement transactions of one key.

    Persists: through `StepTransactions`, the pending transaction and the transaction of each step.
    """

    def __init__(
        self,
        transactions: StepTransactions,
        plan: SettlementPlan,
        l1_sync: L1Sync,
        contract: ZkChain,
        stop: SettlementStop,
    ) -> None:
        self.transactions = transactions
        self._plan = plan
        self._l1_sync = l1_sync
        self._l1 = contract.l1
        self._contract = contract
        self._stop = stop
        self.failure: EntresolError | None = None
        """The failure of the last `advance`."""

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
            self._stop.on_reverted(operation, failure_reason(failure))
        else:
            self._stop.on_sent(operation)
            await self.transactions.send_step(operation, signed, self._head.number, now)

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
        receipt = await self.transactions.receipt()
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
            await self.transactions.resend(str(pending.operation), self._head, now)
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

    async def _handle_revert(self, operation: SettlementOperation, receipt: L1Receipt) -> None:
        """Stop because of a transaction that reverted, unless a reorg of L1 is the cause."""
        # The totals from before the receipt may be of blocks that a reorg removed, and those of now of a node that
        # lags. A reorg may also have put the transaction before the one of another key that it builds on.
        for block in (None, receipt.block_hash, receipt.block_number - 1):
            if not operation.is_next(await self._contract.totals(block)):
                log.warning("%s failed because of a reorg of L1", operation)
                return
        call = self._plan.call(operation)
        self._stop.on_reverted(operation, await self.transactions.revert_reason(call, receipt))


def _raise_if_temporary(operation: SettlementOperation, failure: ExecutionFailed) -> None:
    """Raise a retryable error for a failure that passes with time."""
    reason = failure_reason(failure)
    if reason.startswith(_TEMPORARY):
        raise LayerOneRejected(operation.step.name.lower(), _REVERTED, reason) from failure
