"""Revert batches on L1 that are committed and not executed, by the key of a validator."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.counted import batches
from entresol.errors import BatchesNotRevertible, ExecutionFailed, LayerOneMismatch
from entresol.l1.contracts import BatchTotals, ZkChain
from entresol.l1.custom_errors import failure_reason
from entresol.l1.fee_limits import GWEI
from entresol.l1.operator import SignedTransaction
from entresol.primitives import abi

if TYPE_CHECKING:
    from entresol.l1.deployment import SettlementContracts
    from entresol.l1.layer_one import L1Block, L1Receipt, LayerOne
    from entresol.l1.operator import Operator
    from entresol.primitives.values import Hash32

SIGNATURE: Final = "revertBatchesSharedBridge(address,uint256)"
_POLL_SECONDS: Final = 0.5

REPLACE_SECONDS: Final = 30.0
"""How long the revert may be pending before one with a higher fee replaces it."""

_BLOCKS_UNTIL_STUCK: Final = 2

log = logging.getLogger(__name__)


class RevertedBatches(msgspec.Struct, frozen=True, kw_only=True):
    """What L1 has reverted."""

    before: BatchTotals
    """What L1 had before."""
    last: int
    """The last batch that is left."""
    transaction: Hash32
    block: int
    """The L1 block that has it."""

    @property
    def first(self) -> int:
        """The first batch that was reverted; all after it were, too."""
        return self.last + 1


async def revert_batches(
    l1: LayerOne,
    contracts: SettlementContracts,
    operator: Operator,
    last: int,
    *,
    replace_seconds: float = REPLACE_SECONDS,
) -> RevertedBatches:
    """Revert all batches after `last`, and wait until L1 has done it; a fee that is stuck is raised within limits.

    Raises `BatchesNotRevertible` if L1 has none after it, or has executed one, and `LayerOneMismatch` if L1 does
    not do it: a transaction of a node with the same key may have taken its nonce.
    """
    contract = ZkChain(l1, contracts.chain)
    head = await l1.head()
    before = await contract.totals(head.hash)
    if last >= before.committed:
        raise BatchesNotRevertible(
            last, f"{l1.name} has {batches(before.committed)}, so there is none after it"
        )
    if last < before.executed:
        raise BatchesNotRevertible(
            last,
            f"{l1.name} has executed batch {before.executed}, which is final: the least that can be left is "
            f"{before.executed}",
        )
    receipt = await _send(l1, operator, contracts, last, replace_seconds)
    after = await contract.totals(receipt.block_hash)
    if after.committed != last:
        raise LayerOneMismatch(
            f"{l1.name} has {batches(after.committed)} after the revert to {last}: somebody has committed others in the "
            "same block"
        )
    return RevertedBatches(
        before=before,
        last=last,
        transaction=receipt.transaction_hash,
        block=receipt.block_number,
    )


async def _send(
    l1: LayerOne,
    operator: Operator,
    contracts: SettlementContracts,
    last: int,
    replace_seconds: float,
) -> L1Receipt:
    """Have the timelock revert, and return the receipt of a success."""
    data = abi.encode_call(SIGNATURE, contracts.chain, last)
    try:
        signed = await operator.sign_call(contracts.validator_timelock, data)
    except ExecutionFailed as error:
        raise LayerOneMismatch(f"the revert fails on {l1.name}: {failure_reason(error)}") from error
    await operator.send(signed)
    receipt = await PendingRevert(l1, operator, signed, replace_seconds).included()
    if not receipt.succeeded:
        raise LayerOneMismatch(
            f"the revert failed on {l1.name} ({receipt.transaction_hash}): a batch was executed meanwhile, or another revert came first"
        )
    return receipt


class PendingRevert:
    """The transaction that reverts, and those that replaced it because their fee was too low.

    Remembers: all that were sent, since L1 may include any of them. Persists: nothing. Fails: with `LayerOneMismatch` if
    another transaction took the nonce.
    """

    def __init__(
        self, l1: LayerOne, operator: Operator, signed: SignedTransaction, replace_seconds: float
    ) -> None:
        self._l1 = l1
        self._operator = operator
        self._attempts = [signed]
        self._replace_seconds = replace_seconds
        self._signed_at = time.monotonic()
        self._signed_head: int | None = None
        self._limited_until = 0.0

    async def included(self) -> L1Receipt:
        """Send until L1 includes one of them, and return its receipt."""
        l1, operator, nonce = self._l1, self._operator, self._attempts[0].nonce
        while await l1.nonce(operator.address) <= nonce:
            await l1.wait_for_block(_POLL_SECONDS)
            await self._raise_fee(await l1.head())
            # L1 may have dropped it.
            await operator.send(self._attempts[-1])
        for signed in reversed(self._attempts):
            if (receipt := await l1.receipt(signed.hash)) is not None:
                return receipt
        raise LayerOneMismatch(
            f"another transaction of {operator.address.checksummed()} took nonce {nonce} on {l1.name}, and nothing was "
            "reverted: a node with this key settles. Stop it, and try again"
        )

    async def _raise_fee(self, head: L1Block) -> None:
        """Replace the transaction if blocks come without it, or its fee is below that of the next block."""
        best, now = self._attempts[-1], time.monotonic()
        if self._signed_head is None:
            self._signed_head = head.number
        is_old = now - self._signed_at >= self._replace_seconds
        is_stuck = is_old and head.number >= self._signed_head + _BLOCKS_UNTIL_STUCK
        if now < self._limited_until or not (is_stuck or best.fees.is_too_low(head.base_fee)):
            return
        found = await self._operator.sign_replacement(best)
        has = f"a fee of up to {best.fees.max_fee / GWEI:g} gwei"
        if isinstance(found, SignedTransaction):
            fee = found.fees.max_fee / GWEI
            log.warning("the revert is stuck with %s: replaced by one with %g gwei", has, fee)
            self._attempts.append(found)
            self._signed_at, self._signed_head = now, head.number
        else:
            log.warning("the revert is stuck with %s: %s forbids more", has, found.limit)
            self._limited_until = now + REPLACE_SECONDS
