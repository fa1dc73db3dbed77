"""Prices of an L2: gas and pubdata, as they follow from the gas price of L1 and the price of ether in its base token."""

from __future__ import annotations

from typing import Final

import msgspec

from entresol.listeners import Listeners
from entresol.primitives.base_token import EtherPrice
from entresol.primitives.published.rules import PARTS
from entresol.storage.block_rows import Prices

L1_GAS_PER_PUBDATA_BYTE: Final = 17
MAX_GAS_PER_PUBDATA: Final = 50_000

_MAX_L1_GAS_PRICE: Final = 10**15
_MAX_GAS_PRICE: Final = 10**13
_MAX_PUBDATA_PRICE: Final = 10**15

_MAX_KNOWN_PRICES: Final = 8
"""How many computed prices are remembered."""


LARGEST_BASE_FEE: Final = 2**64 - 1
"""The largest that the engine can hold."""


class FeeConstants(msgspec.Struct, frozen=True, kw_only=True):
    """The fee parameters of the operator, under the names of zksync-era; prices are in wei of ether."""

    minimal_l2_gas_price: int = 100_000_000
    compute_overhead_part: int = 0
    """In parts per million, as the next one."""
    pubdata_overhead_part: int = PARTS
    batch_overhead_l1_gas: int = 800_000
    max_gas_per_batch: int = 200_000_000
    max_pubdata_per_batch: int = 500_000


class FeeInput(msgspec.Struct, frozen=True, kw_only=True):
    """The batch fee input: prices of the L2 in the smallest units of its base token, that of L1 in wei."""

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


def fee_input(
    constants: FeeConstants,
    l1_gas_price: int,
    ether: EtherPrice,
    *,
    scale: tuple[int, int] = (1, 1),
) -> FeeInput:
    """Return the prices that follow from those of L1: the rule of fees, by which others check a block.

    Integers alone, so that every machine has the same; `scale` is a fraction by which gas on L1 costs more.
    """
    times, of = scale
    pubdata_price = l1_gas_price * L1_GAS_PER_PUBDATA_BYTE * times // of
    l1_gas_price = l1_gas_price * times // of
    overhead = l1_gas_price * constants.batch_overhead_l1_gas
    computation = -(-overhead // constants.max_gas_per_batch)
    publication = -(-overhead // constants.max_pubdata_per_batch)
    fair_l2 = constants.minimal_l2_gas_price
    fair_l2 += computation * constants.compute_overhead_part // PARTS
    fair_pubdata = pubdata_price + publication * constants.pubdata_overhead_part // PARTS
    # In wei, because what is much for ether may be little of a token.
    fair_l2 = min(fair_l2, _MAX_GAS_PRICE)
    # Pubdata never raises the gas price above the operator's, since none is published.
    max_pubdata = min(_MAX_PUBDATA_PRICE, fair_l2 * MAX_GAS_PER_PUBDATA)
    # As the mailbox on L1 rounds its minimum: up, so that gas costs a unit at least.
    fair_l2_units = min(ether.units(fair_l2), LARGEST_BASE_FEE)
    fair_pubdata_units = ether.units(min(fair_pubdata, max_pubdata))
    return FeeInput(
        fair_l2_gas_price=fair_l2_units,
        fair_pubdata_price=min(fair_pubdata_units, fair_l2_units * MAX_GAS_PER_PUBDATA),
        l1_gas_price=l1_gas_price,
    )


class FeeModel:
    """Prices of an L2: those in ether, times what ether costs in the token that pays for gas.

    A caller of `observe` and `set_ether_price` tracks L1. What follows for a block is in its header and in the store.
    """

    QUOTE_SCALE: Final = (3, 2)
    """Quotes allow for an increase of the L1 gas price before a transaction is included."""

    def __init__(
        self,
        constants: FeeConstants | None = None,
        l1_gas_price: int = 10**9,
        ether_price: EtherPrice | None = None,
    ) -> None:
        self.constants = constants or FeeConstants()
        self.l1_gas_price = l1_gas_price
        self.is_in_ether = ether_price is None
        """Whether gas is paid in ether, whose price in itself never changes."""
        self.ether_price = EtherPrice()
        self.repriced: Listeners[[]] = Listeners()
        """Notified when ether has another price, so that every price of the L2 is another."""
        self._known: dict[tuple[int, tuple[int, int]], FeeInput] = {}
        if ether_price is not None:
            self.set_ether_price(ether_price)

    @property
    def l1_pubdata_price(self) -> int:
        """The price in wei of a pubdata byte that L1 gets as calldata."""
        return self.l1_gas_price * L1_GAS_PER_PUBDATA_BYTE

    def observe(self, l1_gas_price: int) -> None:
        """Set the current gas price of L1, in wei; no more than the store can hold."""
        self.l1_gas_price = min(max(l1_gas_price, 0), _MAX_L1_GAS_PRICE)

    def set_ether_price(self, price: EtherPrice) -> None:
        """Let prices follow another price of ether; raises `ValueError` if no block could hold the base fee."""
        if price == self.ether_price:
            return
        self.check_ether_price(price)
        self.ether_price = price
        self._known.clear()
        self.repriced.notify()

    def check_ether_price(self, price: EtherPrice) -> None:
        """Raise `ValueError` if no block could hold the base fee at a price of ether."""
        base_fee = price.units(min(self.constants.minimal_l2_gas_price, _MAX_GAS_PRICE))
        if base_fee > LARGEST_BASE_FEE:
            raise ValueError(
                f"at {price.nominator} / {price.denominator} units of the base token for a wei, the base fee is "
                f"{base_fee} units, and a block holds at most 2^64 - 1"
            )

    def current(self) -> FeeInput:
        """Return the prices of the next block."""
        return self._at((1, 1))

    def prices(self) -> Prices:
        """Return the prices of the next block that are recorded beside its base fee."""
        current = self.current()
        return Prices(current.l1_gas_price, current.fair_pubdata_price, self.ether_price)

    def quoted(self) -> FeeInput:
        """Return the prices to quote to users."""
        return self._at(self.QUOTE_SCALE)

    def _at(self, scale: tuple[int, int]) -> FeeInput:
        key = self.l1_gas_price, scale
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MAX_KNOWN_PRICES:
                self._known.clear()
            known = self._known[key] = fee_input(
                self.constants, self.l1_gas_price, self.ether_price, scale=scale
            )
        return known
