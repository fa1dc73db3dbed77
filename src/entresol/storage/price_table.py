"""The prices that blocks were made with, as far as a header does not have them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.storage import tables

if TYPE_CHECKING:
    from entresol.storage.key_value import KeyValueStore

_SIZE: Final = 32
_HIGHEST: Final = 2 ** (8 * _SIZE) - 1


class Prices(NamedTuple):
    """What L1 asked for gas, and L2 for a published byte, in wei."""

    l1_gas_price: int
    fair_pubdata_price: int


class PriceTable:
    """The prices of a chain's blocks, beside its blocks.

    Persists: a row for each block that was made with others than the one before, in the write that
    appends the block. What was seen of another layer does not follow from the records.
    """

    def __init__(self, engine: KeyValueStore) -> None:
        self._engine = engine

    def at(self, block: int) -> Prices | None:
        """Return the prices that a block was made with, or None if nobody wrote them down."""
        found = self._engine.last_at_most(tables.PRICES + tables.number(block), tables.PRICES)
        if found is None:
            return None
        row = found[1]
        return Prices(int.from_bytes(row[:_SIZE]), int.from_bytes(row[_SIZE:]))

    def rows_of(self, block: int, prices: Prices | None) -> list[tuple[bytes, bytes]]:
        """Return the rows that tell of the prices of a new block: none if they are those of the last one."""
        if prices is None:
            return []
        known = Prices(*(min(price, _HIGHEST) for price in prices))
        if known == self.at(block):
            return []
        row = b"".join(price.to_bytes(_SIZE) for price in known)
        return [(tables.PRICES + tables.number(block), row)]

    def keys_above(self, block: int) -> Iterator[bytes]:
        """Yield every key of a block above this one."""
        key = tables.PRICES + tables.LAST_NUMBER
        while (found := self._engine.last_at_most(key, tables.PRICES)) is not None:
            number = tables.block_of(found[0])
            if number <= block:
                return
            yield found[0]
            key = tables.PRICES + tables.number(number - 1)
