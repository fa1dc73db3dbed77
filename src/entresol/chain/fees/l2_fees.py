"""What gas and published data cost on a layer 2, as it follows from the gas price of its layer 1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.storage.price_table import Prices

if TYPE_CHECKING:
    from entresol.primitives.headers import Header

L1_GAS_PER_PUBDATA_BYTE: Final = 17
MAX_GAS_PER_PUBDATA: Final = 50_000

_MAX_GAS_PRICE: Final = 10**13
_MAX_PUBDATA_PRICE: Final = 10**15


class FeeConstants(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator decides about fees; the names are those that the network publishes."""

    minimal_l2_gas_price: int = 100_000_000
    compute_overhead_part: float = 0.0
    pubdata_overhead_part: float = 1.0
    batch_overhead_l1_gas: int = 800_000
    max_gas_per_batch: int = 200_000_000
    max_pubdata_per_batch: int = 500_000


class FeeInput(msgspec.Struct, frozen=True, kw_only=True):
    """The prices that a batch is made with, in wei."""

    fair_l2_gas_price: int
    fair_pubdata_price: int
    l1_gas_price: int

    @property
    def base_fee(self) -> int:
        """The price of gas that also covers published data within its limit."""
        return max(self.fair_l2_gas_price, -(-self.fair_pubdata_price // MAX_GAS_PER_PUBDATA))

    @property
    def gas_per_pubdata(self) -> int:
        """The gas that a published byte costs at the base fee; at least 1."""
        return max(-(-self.fair_pubdata_price // self.base_fee), 1) if self.base_fee else 1


class FeeModel:
    """Prices of a layer 2.

    Remembers: the gas price of L1 as it was last seen. Persists: nothing; a sealed block has its base
    fee in the header, and the store has the other prices of each. Assumes: somebody tells it when that price changes. Fails: never.
    """

    QUOTE_SCALE: Final = 1.5
    """What is quoted allows for L1's gas to get that much dearer before a transaction is included."""

    def __init__(self, constants: FeeConstants | None = None, l1_gas_price: int = 10**9) -> None:
        self.constants = constants or FeeConstants()
        self.l1_gas_price = l1_gas_price

    @property
    def l1_pubdata_price(self) -> int:
        """What a byte costs that is published on L1 as call data."""
        return self.l1_gas_price * L1_GAS_PER_PUBDATA_BYTE

    def observe(self, l1_gas_price: int) -> None:
        """Take note of what gas costs on L1 now."""
        self.l1_gas_price = l1_gas_price

    def current(self) -> FeeInput:
        """Return the prices of the next block."""
        return self._at(1.0)

    def prices(self) -> Prices:
        """Return what the next block is made with beside its base fee."""
        current = self.current()
        return Prices(current.l1_gas_price, current.fair_pubdata_price)

    def quoted(self) -> FeeInput:
        """Return the prices that users are told to reckon with."""
        return self._at(self.QUOTE_SCALE)

    def _at(self, scale: float) -> FeeInput:
        it = self.constants
        l1_gas_price = math.floor(self.l1_gas_price * scale)
        overhead = l1_gas_price * it.batch_overhead_l1_gas
        computation = -(-overhead // it.max_gas_per_batch)
        publication = -(-overhead // it.max_pubdata_per_batch)
        fair_l2 = it.minimal_l2_gas_price + math.floor(computation * it.compute_overhead_part)
        fair_pubdata = math.floor(self.l1_pubdata_price * scale)
        fair_pubdata += math.floor(publication * it.pubdata_overhead_part)
        fair_l2 = min(fair_l2, _MAX_GAS_PRICE)
        # Gas costs what the operator says: dear data does not make it dearer, since none is published.
        most = min(_MAX_PUBDATA_PRICE, fair_l2 * MAX_GAS_PER_PUBDATA)
        return FeeInput(
            fair_l2_gas_price=fair_l2,
            fair_pubdata_price=min(fair_pubdata, most),
            l1_gas_price=l1_gas_price,
        )


class L2BaseFee:
    """The base fee that a model of prices asks for, whatever the block before it had."""

    def __init__(self, model: FeeModel) -> None:
        self.model = model

    def next(self, parent: Header) -> int:  # noqa: ARG002 - one question, asked of every policy
        """Return the base fee of the block after `parent`."""
        return self.model.current().base_fee

    def prices(self) -> Prices:
        """Return what the next block is made with beside its base fee."""
        return self.model.prices()
