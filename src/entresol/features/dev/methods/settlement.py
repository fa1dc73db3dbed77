"""Developer methods of an L2 that act on L1: steps of the settlement, and the price of the base token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from entresol.errors import LayerOneFailed, MalformedValue
from entresol.primitives.base_token import tokens_per_ether
from entresol.primitives.batches import SettlementStep
from entresol.primitives.values import Hash32
from entresol.rpc.jsonrpc.method import method
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from fractions import Fraction


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

    @method(LayerOneFailed, name="anvil_zks_commitBatch")
    async def commit_batch(self, batch_number: Number) -> Hash32:
        """Commit a batch on L1, sealing it first if it is the next one; return the L1 transaction's hash."""
        return await self._rollup.settle(SettlementStep.COMMIT, int(batch_number))

    @method(LayerOneFailed, name="anvil_zks_proveBatch")
    async def prove_batch(self, batch_number: Number) -> Hash32:
        """Prove a committed batch on L1; return the L1 transaction's hash."""
        return await self._rollup.settle(SettlementStep.PROVE, int(batch_number))

    @method(LayerOneFailed, name="anvil_zks_executeBatch")
    async def execute_batch(self, batch_number: Number) -> Hash32:
        """Execute a proven batch on L1; return the L1 transaction's hash."""
        return await self._rollup.settle(SettlementStep.EXECUTE, int(batch_number))

    @method(LayerOneFailed, name="anvil_zks_bookBatch")
    async def book_batch(self, batch_number: Number) -> Hash32:
        """Have L1 book what an executed batch sends to other chains; return the L1 transaction's hash."""
        return await self._rollup.book(int(batch_number))


class RatioControl(Protocol):
    """Changes on L1 what ether costs in the base token."""

    def set_ratio(self, tokens: Fraction) -> Awaitable[Hash32]:
        """Let an ether cost so many tokens, and return the hash of the L1 transaction; raises `ValueError`."""


class EntresolBaseToken:
    """Changes the price of ether in the token that pays for gas."""

    prefix = "entresol"

    def __init__(self, control: RatioControl) -> None:
        self._control = control

    @method(LayerOneFailed, MalformedValue)
    async def set_base_token_ratio(self, ratio: str | int | float) -> Hash32:  # noqa: PYI041 - as in JSON
        """Let an ether cost so many base tokens, such as 3000, 0.5 or "628/17"; return the L1 transaction's hash.

        The admin of the chain's contract calls `setTokenMultiplier`. Every price of the L2 follows once that block of L1
        is confirmed, on the development L1 at once. Deposits made before keep their price.
        """
        try:
            return await self._control.set_ratio(tokens_per_ether(ratio))
        except ValueError as error:
            raise MalformedValue(str(error), field="ratio") from error
