"""The bytes that a block may publish: what is left of them while it is built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.errors import BlockFullOfBytes
from entresol.primitives.published.block import (
    MAX_HEAD_BYTES,
    MAX_ROOT_BYTES,
    transaction_size,
)
from entresol.primitives.published.body import MAX_FRAME_BYTES
from entresol.primitives.published.edits import PublishedEdits
from entresol.primitives.published.limits import MAX_BODY_BYTES
from entresol.primitives.published.rules import MAX_RULES_BYTES
from entresol.primitives.published.writer import varint_size
from entresol.primitives.transactions import PriorityTransaction, SystemTransaction
from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.primitives.records import StoredChange
    from entresol.primitives.transactions import Transaction

_HASHED_BYTES: Final = Hash32.size + 10
"""What edits by hash take, at most."""
MAX_BLOCK_BYTES: Final = (
    MAX_BODY_BYTES - MAX_FRAME_BYTES - MAX_HEAD_BYTES - MAX_RULES_BYTES - _HASHED_BYTES
)
"""What the transactions and edits of a block may take, so that a batch of this block alone can be published."""

MAX_PUBLISHED_TRANSACTION: Final = MAX_BLOCK_BYTES - varint_size(MAX_BLOCK_BYTES)
"""The largest transaction that a block can have, and a batch can publish."""


class ByteRoom:
    """Counts what a block publishes, as a batch has it before it is compressed.

    Remembers: what is left. Deposits take nothing: L1 has them, and a batch has only their number.
    """

    def __init__(self, left: int = MAX_BLOCK_BYTES) -> None:
        self.left = left

    def check(self, transaction: Transaction) -> None:
        """Raise `BlockFullOfBytes` if a transaction does not fit."""
        size = published_size(transaction)
        if size > self.left:
            raise BlockFullOfBytes(size, self.left)

    def take(self, transaction: Transaction) -> None:
        """Count a transaction that the block includes."""
        self.left -= published_size(transaction)

    def take_edits(self, edits: Sequence[StoredChange], codes: Sequence[bytes]) -> None:
        """Count edits; of those that are too large for any batch only the hash is published."""
        if edits:
            size = len(PublishedEdits.of(edits, codes).encode())
            # Room for a hash is always left.
            self.left -= size if size <= self.left else 0


def published_size(transaction: Transaction) -> int:
    """Return how many bytes a transaction takes in the block that includes it."""
    payload = transaction.payload
    if isinstance(payload, PriorityTransaction):
        return 0
    if isinstance(payload, SystemTransaction):
        return MAX_ROOT_BYTES * len(payload.roots)
    return transaction_size(len(transaction.raw))
