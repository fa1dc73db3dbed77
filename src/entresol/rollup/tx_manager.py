"""Send settlement transactions one at a time; resend or replace the pending one."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from entresol.errors import ExecutionFailed
from entresol.l1.custom_errors import failure_reason
from entresol.rollup.pending_tx import PendingSettlement

if TYPE_CHECKING:
    from entresol.l1.layer_one import L1Receipt, LayerOne
    from entresol.l1.operator import Operator, SignedTransaction
    from entresol.primitives.values import Address
    from entresol.rollup.pending_tx import SettlementOperation
    from entresol.storage.batch_table import BatchTable

log = logging.getLogger(__name__)


class TxManager:
    """Has at most one transaction of the operator pending on L1.

    Remembers: when the pending transaction was signed, and when it was sent last. Persists: the
    pending transaction, before it is sent, so that a restart sends the same one again. Assumes: the
    operator's account has no other user. Fails: as `LayerOne` does.
    """

    def __init__(
        self,
        batches: BatchTable,
        l1: LayerOne,
        operator: Operator,
        timelock: Address,
        *,
        resend_seconds: float,
        replace_seconds: float,
    ) -> None:
        self._batches = batches
        self._l1 = l1
        self._operator = operator
        self._timelock = timelock
        self._resend_seconds = resend_seconds
        self._replace_seconds = replace_seconds
        self._signed_at: float | None = None
        self._sent_at = 0.0

    @property
    def pending(self) -> PendingSettlement | None:
        """The pending transaction, with those it replaces."""
        stored = self._batches.pending_settlement()
        return None if stored is None else PendingSettlement.decode(stored)

    async def sign(self, call: bytes) -> SignedTransaction:
        """Sign a call of the timelock; raises what it would fail with."""
        return await self._operator.sign_call(self._timelock, call)

    async def send(
        self, operation: SettlementOperation, signed: SignedTransaction, now: float
    ) -> None:
        """Persist the transaction of an operation as pending, and send it."""
        self._batches.set_pending_settlement(PendingSettlement.of(operation, signed).encode())
        self._signed_at = self._sent_at = now
        await self._operator.send(signed)

    async def resend(self, pending: PendingSettlement, now: float) -> None:
        """Send the pending transaction again, as L1 may have dropped it; replace it if it is stuck."""
        signed = pending.transactions()[0]
        if self._signed_at is None:
            self._signed_at = now
        elif now - self._signed_at >= self._replace_seconds:
            signed = await self._operator.sign_replacement(signed)
            log.warning("replacing the stuck transaction for %s: higher fee", pending.operation)
            self._batches.set_pending_settlement(pending.with_replacement(signed).encode())
            self._signed_at = now
        elif now - self._sent_at < self._resend_seconds:
            return
        self._sent_at = now
        await self._operator.send(signed)

    def drop(self) -> None:
        """Stop following the pending transaction."""
        self._batches.set_pending_settlement(None)

    async def nonce(self) -> int:
        """Return the operator's next nonce, as of L1's last block."""
        return await self._l1.nonce(self._operator.address)

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
