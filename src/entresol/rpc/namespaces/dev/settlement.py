"""The `anvil_zks_` methods: settle batches on request, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from entresol.errors import LayerOneFailed
from entresol.primitives.batches import SettlementStep
from entresol.primitives.values import Hash32
from entresol.rpc.jsonrpc.method import ServedBy, method
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from collections.abc import Awaitable


class SettlementControl(Protocol):
    """Settles batches on L1."""

    def settle(self, step: SettlementStep, batch: int) -> Awaitable[Hash32]:
        """Take a settlement step of a batch, and return the hash of its L1 transaction."""

    def book(self, batch: int) -> Awaitable[Hash32]:
        """Have L1 book what an executed batch sends to other chains; return the hash of its L1 transaction."""


class AnvilSettlement:
    """The settlement steps of a batch, on request."""

    prefix = "anvil"

    def __init__(self, rollup: SettlementControl) -> None:
        self._rollup = rollup

    @method(LayerOneFailed, name="anvil_zks_commitBatch", served_by=ServedBy.PRODUCER)
    async def commit_batch(self, batch_number: Number) -> Hash32:
        """Commit a batch on L1, sealing it first if it is the next one; return the L1 transaction's hash."""
        return await self._rollup.settle(SettlementStep.COMMIT, int(batch_number))

    @method(LayerOneFailed, name="anvil_zks_proveBatch", served_by=ServedBy.PRODUCER)
    async def prove_batch(self, batch_number: Number) -> Hash32:
        """Prove a committed batch on L1; return the L1 transaction's hash."""
        return await self._rollup.settle(SettlementStep.PROVE, int(batch_number))

    @method(LayerOneFailed, name="anvil_zks_executeBatch", served_by=ServedBy.PRODUCER)
    async def execute_batch(self, batch_number: Number) -> Hash32:
        """Execute a proven batch on L1; return the L1 transaction's hash."""
        return await self._rollup.settle(SettlementStep.EXECUTE, int(batch_number))

    @method(LayerOneFailed, name="anvil_zks_bookBatch", served_by=ServedBy.PRODUCER)
    async def book_batch(self, batch_number: Number) -> Hash32:
        """Have L1 book what an executed batch sends to other chains; return the L1 transaction's hash."""
        return await self._rollup.book(int(batch_number))
