"""Settling by hand, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from entresol.errors import LayerOneFailed
from entresol.primitives.batches import SettlementStep
from entresol.primitives.values import Hash32
from entresol.rpc.jsonrpc.method import method
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from collections.abc import Awaitable


class SettlementControl(Protocol):
    """Brings batches to L1."""

    def settle(self, step: SettlementStep, batch: int) -> Awaitable[Hash32]:
        """Do a step of a batch, and return the L1 transaction that did it."""


class AnvilSettlement:
    """The steps of a batch, when somebody asks for them."""

    prefix = "anvil"

    def __init__(self, rollup: SettlementControl) -> None:
        self._rollup = rollup

    @method(LayerOneFailed, name="anvil_zks_commitBatch")
    async def commit_batch(self, batch_number: Number) -> Hash32:
        """Commit a batch on L1, sealing it first if it is the next one; return L1's transaction."""
        return await self._rollup.settle(SettlementStep.COMMIT, int(batch_number))

    @method(LayerOneFailed, name="anvil_zks_proveBatch")
    async def prove_batch(self, batch_number: Number) -> Hash32:
        """Prove a committed batch on L1; return L1's transaction."""
        return await self._rollup.settle(SettlementStep.PROVE, int(batch_number))

    @method(LayerOneFailed, name="anvil_zks_executeBatch")
    async def execute_batch(self, batch_number: Number) -> Hash32:
        """Execute a proven batch on L1; return L1's transaction."""
        return await self._rollup.settle(SettlementStep.EXECUTE, int(batch_number))
