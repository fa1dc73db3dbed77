"""Send settlement transactions of one key, one at a time; resend or replace the pending one."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Final

from entresol.errors import EntresolError, ExecutionFailed, LayerOneRejected
from entresol.l1.custom_errors import failure_reason
from entresol.l1.fee_limits import GWEI
from entresol.l1.operator import SignedTransaction
from entresol.rollup.settlement.pending_tx import PendingSettlement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.l1.layer_one import L1Block, L1Receipt
    from entresol.l1.operator import Operator
    from entresol.primitives.batches import SettlementStep, SettlementTransaction
    from entresol.primitives.values import Address, Hash32
    from entresol.rollup.settlement.pending_tx import PendingSettlements, SettlementOperation

log = logging.getLogger(__name__)


_BLOCKS_UNTIL_STUCK: Final = 2
"""A transaction is stuck once so many blocks did not include it; the first may have been begun before it was sent."""
_MAX_REJECTED: Final = 256
_GAS_TOLERANCE: Final = 1.25
"""How far the gas limit of a rejected transaction may be from the current one, before it is what L1 rejects."""


class TxManager:
    """Has at most one transaction of an operator's key pending on L1, for any of the key's steps.

    Remembers: when and at which L1 block the pending transaction was signed, when it was sent last, which attempts L1
    rejected with another gas limit than it takes, what prevents a replacement, and the last call that settles nothing.
    Persists: the pending transaction and every attempt that was signed for it, before it is sent, so that a restart
    follows and resends the same ones. Assumes: the operator's account has no other user. Fails: as `LayerOne` does, and
    with `OperatorOutOfFunds`.
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
        self._journal = journal
        self._l1 = operator.l1
        self._operator = operator
        self.steps = steps
        self._timelock = timelock
        self._resend_seconds = resend_seconds
        self._replace_seconds = replace_seconds
        self._signed_at: float | None = None
        self._signed_head = 0
        self._sent_at = 0.0
        self._problem: str | None = None
        self._is_fee_limited = False
        self._rejected: set[Hash32] = set()
        self._call: SignedTransaction | None = None
        self._called_at = 0.0

    @property
    def pending(self) -> PendingSettlement | None:
        """The pending transaction, with every attempt.

        One of another key, which did the step before, comes first: it is never sent again.
        """
        pending = [it for it in map(self._journal.pending, self.steps) if it is not None]
        return min(pending, key=self.is_own, default=None)

    @property
    def problem(self) -> str | None:
        """Why the pending transaction is neither included nor replaced."""
        return None if self.pending is None else self._problem

    @property
    def is_fee_limited(self) -> bool:
        """Whether the pending transaction is stuck, and a limit forbids a higher fee."""
        return self._is_fee_limited and self.pending is not None

    @property
    def address(self) -> Address:
        """The account of the key."""
        return self._operator.address

    @property
    def calling(self) -> Hash32 | None:
        """The last call that settles nothing, until L1 includes it or it is given up."""
        return None if self._call is None else self._call.hash

    def is_own(self, pending: PendingSettlement) -> bool:
        """Return whether this key signed a transaction."""
        return pending.sender == self._operator.address

    async def sign(self, call: bytes, block: Hash32) -> SignedTransaction:
        """Sign a call of the timelock that follows a block of L1; raises what it would fail with."""
        return await self._operator.sign_call(self._timelock, call, block=block)

    async def send(
        self, operation: SettlementOperation, signed: SignedTransaction, head: int, now: float
    ) -> None:
        """Persist the transaction of an operation as pending, and send it."""
        await self._persist(PendingSettlement.of(operation, signed), head, now)
        self._sent_at = now
        await self._operator.send(signed)

    async def send_call(self, to: Address, data: bytes, now: float, *, value: int = 0) -> Hash32:
        """Sign and send a call that settles nothing, while nothing is pending."""
        signed = await self._operator.sign_call(to, data, value=value)
        self._call, self._called_at = signed, now
        try:
            await self._operator.send(signed)
        except LayerOneRejected:
            # It would be rejected again, and nothing else have the nonce.
            self._call = None
            raise
        await self.follow_call()
        return signed.hash

    async def follow_call(self) -> None:
        """Forget a call that L1 has included, so that it is not sent again if L1 is reverted to before it."""
        call = self._call
        if call is not None and await self._l1.nonce(self._operator.address) > call.nonce:
            self._call = None

    async def is_calling(self, now: float) -> bool:
        """Return whether a call that settles nothing has the next nonce; it is sent again, and given up in the end."""
        call = self._call
        if call is None:
            return False
        is_over = now - self._called_at >= self._replace_seconds
        # It is higher if L1 has included the call or another one, and lower if L1 was reverted.
        if is_over or await self._l1.nonce(self._operator.address) != call.nonce:
            self._call = None
            return False
        await self._operator.send(call)
        return True

    async def resend(self, pending: PendingSettlement, head: L1Block, now: float) -> None:
        """Send the pending transaction again, as L1 may have dropped it; replace it if it is stuck.

        Of all attempts the one with the highest fee is sent that L1 can include, and that the operator may and can
        pay. If there is none, the call is signed anew, with the same nonce.
        """
        if self._signed_at is None:
            self._signed_at, self._signed_head = now, head.number
        elif now - self._sent_at < self._resend_seconds:
            return
        self._sent_at = now
        balance = await self._operator.balance()
        sendable = [
            transaction
            for transaction in pending.transactions()
            if self._is_sendable(transaction, balance)
        ]
        if not sendable:
            best = await self._operator.sign_again(pending.transactions()[-1], head.hash)
            await self._persist(pending.with_attempt(best), head.number, now)
        else:
            best = await self._replaced(pending, sendable[0], head, now)
        try:
            await self._operator.send(best)
        except LayerOneRejected:
            with contextlib.suppress(EntresolError):
                await self._check_gas(best, head.hash)
            raise

    def _is_sendable(self, attempt: SignedTransaction, balance: int) -> bool:
        is_within_limit = attempt.fees.max_fee <= self._operator.limits.max_fee
        is_payable = is_within_limit and attempt.max_cost <= balance
        return (
            is_payable and attempt.hash not in self._rejected and self._operator.is_valid(attempt)
        )

    async def _check_gas(self, attempt: SignedTransaction, block: Hash32) -> None:
        """Note that L1 rejects an attempt because of its gas limit, if that is not what L1 estimates now."""
        payload = attempt.payload
        estimated = (await self._operator.estimated(payload, block)).gas_limit
        if not estimated // _GAS_TOLERANCE <= payload.gas_limit <= _GAS_TOLERANCE * estimated:
            if len(self._rejected) >= _MAX_REJECTED:
                self._rejected.clear()
            self._rejected.add(attempt.hash)

    async def _replaced(
        self, pending: PendingSettlement, best: SignedTransaction, head: L1Block, now: float
    ) -> SignedTransaction:
        """Return a replacement of the best attempt, or itself if it is not stuck or a limit forbids it."""
        assert self._signed_at is not None
        # After a revert the base fee can be above what was signed, and an L1 that only this would wake makes no blocks.
        if not best.fees.is_too_low(head.base_fee):
            if now - self._signed_at < self._replace_seconds:
                return best
            if head.number < self._signed_head + _BLOCKS_UNTIL_STUCK:
                self._report(f"{pending.operation} is pending, and {self._l1.name} makes no blocks")
                return best
        signed = await self._operator.sign_replacement(best)
        if isinstance(signed, SignedTransaction):
            log.warning(
                "replacing the stuck transaction for %s: %g gwei instead of %g",
                *(pending.operation, signed.fees.max_fee / GWEI, best.fees.max_fee / GWEI),
            )
            await self._persist(pending.with_attempt(signed), head.number, now)
            return signed
        self._is_fee_limited = True
        self._report(
            f"{pending.operation} is stuck on {self._l1.name} with a fee of up to "
            f"{best.fees.max_fee / GWEI:g} gwei, and {signed.limit} forbids a higher one"
        )
        return best

    async def _persist(self, pending: PendingSettlement, head: int, now: float) -> None:
        await self._journal.persist(pending)
        self._signed_at, self._signed_head = now, head
        self._problem, self._is_fee_limited = None, False

    def _report(self, problem: str) -> None:
        if problem != self._problem:
            log.warning("%s", problem)
        self._problem = problem

    async def drop(self, pending: PendingSettlement) -> None:
        """Stop following a transaction."""
        await self._journal.drop(pending.step)

    async def settle(self, operation: SettlementOperation, by: SettlementTransaction) -> None:
        """Record the transaction that did an operation, which is no longer pending then."""
        await self._journal.settle(operation.batches, operation.step, by)

    async def nonce(self, block: Hash32) -> int:
        """Return the operator's next nonce after a block of L1."""
        return await self._l1.nonce(self._operator.address, block)

    async def receipt(self, pending: PendingSettlement) -> L1Receipt | None:
        """Return the receipt of whichever transaction L1 included; None if it is none yet."""
        for transaction in pending.transactions():
            receipt = await self._l1.receipt(transaction.hash)
            if receipt is not None:
                return receipt
        return None

    async def revert_reason(self, call: bytes, receipt: L1Receipt) -> str:
        """Repeat a reverted call on the block before it, and return what it reverts with."""
        block = receipt.block_number - 1
        try:
            await self._l1.call(self._timelock, call, sender=self._operator.address, block=block)
        except ExecutionFailed as failure:
            return failure_reason(failure)
        return f"transaction {receipt.transaction_hash} reverted, and the call does not now"
