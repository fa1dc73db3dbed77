"""Stored prices of blocks that their headers do not contain: L1 gas and pubdata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.storage import tables

if TYPE_CHECKING:
    from entresol.storage.database.key_value import KeyValueStore, Row

_SIZE: Final = 32
_HIGHEST: Final = 2 ** (8 * _SIZE) - 1


class Prices(NamedTuple):
    """The price of gas on L1 and of a pubdata byte on L2, in wei."""

    l1_gas_price: int
    fair_pubdata_price: int

    def pack(self) -> bytes:
        """Return the prices as a row has them, each at most what fits."""
        return b"".join(min(price, _HIGHEST).to_bytes(_SIZE) for price in self)

    @classmethod
    def unpack(cls, row: bytes) -> Prices:
        """Read what `pack` writes."""
        return cls(int.from_bytes(row[:_SIZE]), int.from_bytes(row[_SIZE:]))


class PriceTable:
    """The prices of a chain's blocks.

    Remembers: the prices of the last block. Persists: a row for each block whose prices differ from the previous
    block's, in the write that appends the block. They were observed on L1, so they cannot be rebuilt from the records.
    """

    def __init__(self, db: KeyValueStore) -> None:
        self._db = db
        self._last: tuple[int, Prices | None] = (-1, None)

    def refresh(self) -> None:
        """Forget the last prices, because all rows were replaced."""
        self._last = (-1, None)

    def at(self, block: int) -> Prices | None:
        """Return the prices of a block, or None if none were recorded."""
        found = self._db.last_at_most(tables.PRICES + tables.number(block), tables.PRICES)
        if found is None:
            return None
        return Prices.unpack(found[1])

    def rows_of(self, block: int, prices: Prices | None) -> list[Row]:
        """Return the rows for the prices of a new block; none if they equal the last block's."""
        if prices is None:
            return []
        last, self._last = self._last, (block, prices)
        if last == (block - 1, prices):
            return []
        row = prices.pack()
        # A reverted block may have left a row for this one.
        if block and Prices.unpack(row) == self.at(block - 1):
            return []
        return [(tables.PRICES + tables.number(block), row)]
