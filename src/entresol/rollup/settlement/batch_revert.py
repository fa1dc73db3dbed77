"""Revert batches on L1 that are committed and not executed, by the key of a validator."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.counted import batches
from entresol.errors import ExecutionFailed, LayerOneFailed, LayerOneMismatch
from entresol.l1.contracts import BatchTotals, ZkChain, failure_reason
from entresol.primitives import abi

if TYPE_CHECKING:
    from entresol.l1.deployment import SettlementContracts
    from entresol.l1.layer_one import L1Receipt, LayerOne
    from entresol.l1.tx_manager import TxManager
    from entresol.primitives.values import Hash32

SIGNATURE: Final = "revertBatchesSharedBridge(address,uint256)"
_POLL_SECONDS: Final = 0.5


class RevertedBatches(msgspec.Struct, frozen=True, kw_only=True):
    """The batches that L1 has reverted."""

    before: BatchTotals
    """The totals of L1 before."""
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
    l1: LayerOne, contracts: SettlementContracts, transactions: TxManager, last: int
) -> RevertedBatches:
    """Revert all batches after `last`, and wait until L1 has done it; a fee that is stuck is raised within limits.

    Raises `LayerOneFailed` if L1 has none after it, or has executed one, and `LayerOneMismatch` if L1 does
    not do it: a transaction of a node with the same key may have taken its nonce.
    """
    contract = ZkChain(l1, contracts.chain)
    head = await l1.head()
    before = await contract.totals(head.hash)
    if last >= before.committed:
        raise LayerOneFailed(
            f"nothing is reverted to batch {last}: {l1.name} has {batches(before.committed)}, so there is none after it"
        )
    if last < before.executed:
        raise LayerOneFailed(
            f"nothing is reverted to batch {last}: {l1.name} has executed batch {before.executed}, which is "
            f"final: the least that can be left is {before.executed}"
        )
    receipt = await _send(l1, contracts, transactions, last)
    after = await contract.totals(receipt.block_hash)
    if after.committed != last:
        raise LayerOneMismatch(
            f"{l1.name} has {batches(after.committed)} after the revert to {last}: somebody has committed others in the "
            "same block"
        )
    return RevertedBatches(
        before=before, last=last, transaction=receipt.transaction_hash, block=receipt.block_number
    )


async def _send(
    l1: LayerOne, contracts: SettlementContracts, transactions: TxManager, last: int
) -> L1Receipt:
    """Have the timelock revert, and return the receipt of a success."""
    data = abi.encode_call(SIGNATURE, contracts.chain, last)
    try:
        signed = await transactions.operator.sign_call(contracts.validator_timelock, data)
    except ExecutionFailed as error:
        raise LayerOneMismatch(f"the revert fails on {l1.name}: {failure_reason(error)}") from error
    await transactions.send(signed, time.monotonic())
    receipt = await transactions.included("the revert", _POLL_SECONDS)
    if receipt is None:
        raise LayerOneMismatch(
            f"another transaction of {transactions.address.checksummed()} took nonce {signed.nonce} on {l1.name}, and "
            "nothing was reverted: a node with this key settles. Stop it, and try again"
        )
    if not receipt.succeeded:
        raise LayerOneMismatch(
            f"the revert failed on {l1.name} ({receipt.transaction_hash}): a batch was executed meanwhile, or another revert came first"
        )
    return receipt
