"""The L1 transactions that settled a batch, as an operator records its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.errors import LayerOneMismatch
from entresol.l1.remote.agreement import agreed
from entresol.primitives.batches import SettlementTransaction

if TYPE_CHECKING:
    from entresol.l1.layer_one import LayerOne
    from entresol.primitives.values import Hash32
    from entresol.rollup.derivation.l1_events import BatchEvent


class StepReader:
    """Reads of the transaction of an event what its log does not say: the time of its block, and its gas.

    Remembers: the last one, since a transaction may settle many batches. Persists: nothing. Fails: as `LayerOne` does,
    and with `LayerOneMismatch` if L1 has another block there than the log says.
    """

    def __init__(self, l1: LayerOne) -> None:
        self._l1 = l1
        self._last: tuple[Hash32, SettlementTransaction] | None = None

    async def step_of(self, event: BatchEvent) -> SettlementTransaction:
        """Return the transaction of an event; its gas is None if L1 does not have its receipt any more."""
        position, transaction = event.position, event.transaction
        if self._last is not None:
            block_hash, last = self._last
            if (block_hash, last.transaction) == (position.block_hash, transaction):
                return last
        block = await agreed(
            self._l1, f"block {position.block}", lambda: self._l1.block(position.block)
        )
        if block is None or block.hash != position.block_hash:
            raise LayerOneMismatch(
                f"{self._l1.name} gives different versions of block {position.block}: a reorg, or nodes that disagree"
            )
        found = SettlementTransaction(
            transaction,
            block.number,
            block.timestamp,
            await self._gas(transaction, position.block_hash),
        )
        self._last = position.block_hash, found
        return found

    async def _gas(self, transaction: Hash32, block_hash: Hash32) -> int | None:
        """Return what L1 took for a transaction; a node that has all logs may know only the latest transactions."""
        receipt = await agreed(
            self._l1,
            f"the receipt of {transaction}",
            lambda: self._l1.receipt(transaction),
        )
        if receipt is None:
            return None
        if receipt.block_hash != block_hash:
            raise LayerOneMismatch(
                f"{self._l1.name} has the transaction {transaction} in another block than its logs say"
            )
        return receipt.gas_used
