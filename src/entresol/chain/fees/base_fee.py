"""Base fee policies: constant, EIP-1559, or derived from the L1 gas price."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from entresol.chain.fees.l2_fees import L2BaseFee

if TYPE_CHECKING:
    from entresol.primitives.headers import Header

ELASTICITY: Final = 2
MAX_CHANGE_DENOMINATOR: Final = 8


class ConstantBaseFee(msgspec.Struct, frozen=True, tag="constant"):
    """A constant base fee, for an L2 without a fee market."""

    wei: int

    def next(self, parent: Header) -> int:  # noqa: ARG002 - part of the policy interface
        """Return the base fee of the block after `parent`."""
        return self.wei

    def prices(self) -> None:
        """Return None: the policy does not depend on L1."""


class Eip1559BaseFee(msgspec.Struct, frozen=True, tag="market"):
    """The base fee of EIP-1559, with a minimum."""

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
        """Return None: the policy does not depend on L1."""


FeePolicy: TypeAlias = ConstantBaseFee | Eip1559BaseFee | L2BaseFee
