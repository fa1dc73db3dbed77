"""Base fees of blocks: constant, by EIP-1559, or those of an L2 that follow from L1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from entresol.chain.fees import FeeConstants, FeeModel, fee_input

if TYPE_CHECKING:
    from entresol.primitives.headers import Header
    from entresol.storage.block_rows import Prices

_ELASTICITY: Final = 2
_MAX_CHANGE_DENOMINATOR: Final = 8


class L2BaseFee:
    """The base fee of a fee model, which does not depend on the parent block."""

    def __init__(self, model: FeeModel, constants: FeeConstants | None = None) -> None:
        """Follow a model; blocks of before may have had other `constants`."""
        self.model = model
        self.constants = constants or model.constants

    def next(self, parent: Header) -> int:  # noqa: ARG002 - part of the policy interface
        """Return the base fee of the block after `parent`."""
        return self.model.current().base_fee

    def prices(self) -> Prices:
        """Return the prices of the next block that are recorded beside its base fee."""
        return self.model.prices()

    def base_fee_at(self, parent: Header, prices: Prices | None) -> int | None:  # noqa: ARG002
        """Return the base fee of a block that was sealed at these prices; None if they are not known."""
        if prices is None:
            return None
        return fee_input(self.constants, prices.l1_gas_price, prices.ether).base_fee


class ConstantBaseFee(msgspec.Struct, frozen=True, tag="constant"):
    """A constant base fee, for an L2 without a fee market."""

    wei: int

    def next(self, parent: Header) -> int:  # noqa: ARG002 - part of the policy interface
        """Return the base fee of the block after `parent`."""
        return self.wei

    def prices(self) -> None:
        """Return None: the policy does not depend on L1."""

    def base_fee_at(self, parent: Header, prices: Prices | None) -> int:  # noqa: ARG002
        """Return the base fee of every block."""
        return self.wei


class Eip1559BaseFee(msgspec.Struct, frozen=True, tag="market"):
    """The base fee of EIP-1559, with a minimum."""

    lowest: int = 0

    def next(self, parent: Header) -> int:
        """Return the base fee of the block after `parent`."""
        target = parent.gas_limit // _ELASTICITY
        fee = parent.base_fee_per_gas
        if target in (parent.gas_used, 0):
            return max(fee, self.lowest)
        distance = abs(parent.gas_used - target)
        change = fee * distance // target // _MAX_CHANGE_DENOMINATOR
        if parent.gas_used > target:
            return max(fee + max(change, 1), self.lowest)
        return max(fee - change, self.lowest)

    def prices(self) -> None:
        """Return None: the policy does not depend on L1."""

    def base_fee_at(self, parent: Header, prices: Prices | None) -> int:  # noqa: ARG002
        """Return the base fee of the block after `parent`."""
        return self.next(parent)


FeePolicy: TypeAlias = ConstantBaseFee | Eip1559BaseFee | L2BaseFee
