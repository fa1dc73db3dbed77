"""How the base fee of the next block follows from the last one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from entresol.chain.fees.l2_fees import L2BaseFee

if TYPE_CHECKING:
    from entresol.primitives.headers import Header

ELASTICITY: Final = 2
MAX_CHANGE_DENOMINATOR: Final = 8


class ConstantBaseFee(msgspec.Struct, frozen=True, tag="constant"):
    """The same base fee in every block, as on a layer 2 that has no market for it."""

    wei: int

    def next(self, parent: Header) -> int:  # noqa: ARG002 - one question, asked of every policy
        """Return the base fee of the block after `parent`."""
        return self.wei

    def prices(self) -> None:
        """Return nothing: no other layer has a say in it."""


class Eip1559BaseFee(msgspec.Struct, frozen=True, tag="market"):
    """A base fee that rises when blocks are more than half full and falls when they are less."""

    lowest: int = 0

    def next(self, parent: Header) -> int:
        """Return the base fee of the block after `parent`."""
        target = parent.gas_limit // ELASTICITY
        fee = parent.base_fee_per_gas
        if target in (parent.gas_used, 0):
            return max(fee, self.lowest)
        distance = abs(parent.gas_used - target)
        change = fee * distance // target // MAX_CHANGE_DENOMINATOR
        if parent.gas_used > target:
            return max(fee + max(change, 1), self.lowest)
        return max(fee - change, self.lowest)

    def prices(self) -> None:
        """Return nothing: no other layer has a say in it."""


FeePolicy: TypeAlias = ConstantBaseFee | Eip1559BaseFee | L2BaseFee
