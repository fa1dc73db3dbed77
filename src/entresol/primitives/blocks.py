"""Blocks: a header and its transactions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from entresol._native import rlp_encode
from entresol.primitives import rlp
from entresol.primitives.headers import Header
from entresol.primitives.transactions import Transaction

_NO_OMMERS: Final = b"\xc0"


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """A header and its transactions."""

    header: Header
    transactions: tuple[Transaction, ...] = ()

    def encode(self) -> bytes:
        """Return the RLP list of the header, the transactions and no ommers."""
        transactions = rlp.join(_item(transaction) for transaction in self.transactions)
        return rlp.join([self.header.encode(), transactions, _NO_OMMERS])

    def size(self) -> int:
        """Return the size of the encoding."""
        return block_size(self.header, self.transactions)


def block_size(header: Header, transactions: Sequence[Transaction]) -> int:
    """Return the size of an encoded block without encoding it."""
    listed = rlp.joined_size(sum(len(_item(transaction)) for transaction in transactions))
    return rlp.joined_size(len(header.encode()) + listed + len(_NO_OMMERS))


def _item(transaction: Transaction) -> bytes:
    """Return a transaction as an RLP item; a legacy one is a list already."""
    return transaction.raw if transaction.type == 0 else rlp_encode(transaction.raw)
