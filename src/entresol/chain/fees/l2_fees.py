"""The fee model of an L2: prices of gas and pubdata, derived from the L1 gas price."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.storage.price_table import Prices

if TYPE_CHECKING:
    from entresol.primitives.headers import Header

L1_GAS_PER_PUBDATA_BYTE: Final = 17
MAX_GAS_PER_PUBDATA: Final = 50_000

_MAX_L1_GAS_PRICE: Final = 10**15
_MAX_GAS_PRICE: Final = 10**13
_MAX_PUBDATA_PRICE: Final = 10**15

_MAX_KNOWN: Final = 8
"""How many computed prices are remembered."""


class FeeConstants(msgspec.Struct, frozen=True, kw_only=True):
    """The fee parameters of the operator, under the names of zksync-era."""

    minimal_l2_gas_price: int = 100_000_000
    compute_overhead_part: float = 0.0
    pubdata_overhead_part: float = 1.0
    batch_overhead_l1_gas: int = 800_000
    max_gas_per_batch: int = 200_000_000
    max_pubdata_per_batch: int = 500_000


class FeeInput(msgspec.Struct, frozen=True, kw_only=True):
    """The batch fee input: prices in wei."""

    fair_l2_gas_price: int
    fair_pubdata_price: int
    l1_gas_price: int

    @property
    def base_fee(self) -> int:
        """The gas price that also covers pubdata at the maximum gas per pubdata byte."""
        return max(self.fair_l2_gas_price, -(-self.fair_pubdata_price // MAX_GAS_PER_PUBDATA))

    @property
    def gas_per_pubdata(self) -> int:
        """The gas for a pubdata byte at the base fee; at least 1."""
        return max(-(-self.fair_pubdata_price // self.base_fee), 1) if self.base_fee else 1


class FeeModel:
    """Prices of an L2.

    Remembers: the last observed gas price of L1, and the prices that follow from it. Persists: nothing; the header of a
    sealed block has its base fee, and the store has its other prices. Assumes: a caller of `observe` tracks L1. Fails:
    never.
    """

    QUOTE_SCALE: Final = 1.5
    """Quotes allow for an increase of the L1 gas price before a transaction is included."""

    def __init__(self, constants: FeeConstants | None = None, l1_gas_price: int = 10**9) -> None:
        self.constants = constants or FeeConstants()
        self.l1_gas_price = l1_gas_price
        self._known: dict[tuple[int, float], FeeInput] = {}

    @property
    def l1_pubdata_price(self) -> int:
        """The price of a pubdata byte that L1 gets as calldata."""
        return self.l1_gas_price * L1_GAS_PER_PUBDATA_BYTE

    def observe(self, l1_gas_price: int) -> None:
        """Set the current gas price of L1; no more than the store can hold."""
        self.l1_gas_price = min(max(l1_gas_price, 0), _MAX_L1_GAS_PRICE)

    def current(self) -> FeeInput:
        """Return the prices of the next block."""
        return self._at(1.0)

    def prices(self) -> Prices:
        """Return the prices of the next block that are recorded beside its base fee."""
        current = self.current()
        return Prices(current.l1_gas_price, current.fair_pubdata_price)

    def quoted(self) -> FeeInput:
        """Return the prices to quote to users."""
        return self._at(self.QUOTE_SCALE)

    def _at(self, scale: float) -> FeeInput:
        key = self.l1_gas_price, scale
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            known = self._known[key] = self._compute(scale)
        return known

    def _compute(self, scale: float) -> FeeInput:
        it = self.constants
        l1_gas_price = math.floor(self.l1_gas_price * scale)
        overhead = l1_gas_price * it.batch_overhead_l1_gas
        computation = -(-overhead // it.max_gas_per_batch)
        publication = -(-overhead // it.max_pubdata_per_batch)
        fair_l2 = it.minimal_l2_gas_price + math.floor(computation * it.compute_overhead_part)
        fair_pubdata = math.floor(self.l1_pubdata_price * scale)
        fair_pubdata += math.floor(publication * it.pubdata_overhead_part)
        fair_l2 = min(fair_l2, _MAX_GAS_PRICE)
        # Pubdata never raises the gas price above the operator's, since none is published.
        max_pubdata = min(_MAX_PUBDATA_PRICE, fair_l2 * MAX_GAS_PER_PUBDATA)
        return FeeInput(
            fair_l2_gas_price=fair_l2,
            fair_pubdata_price=min(fair_pubdata, max_pubdata),
            l1_gas_price=l1_gas_price,
        )


class L2BaseFee:
    """The base fee of a fee model, which does not depend on the parent block."""

    def __init__(self, model: FeeModel) -> None:
        self.model = model

    def next(self, parent: Header) -> int:  # noqa: ARG002 - part of the policy interface
        """Return the base fee of the block after `parent`."""
        return self.model.current().base_fee

    def prices(self) -> Prices:
        """Return the prices of the next block that are recorded beside its base fee."""
        return self.model.prices()
