"""The queue of priority transactions from L1 that no block includes yet."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from entresol.primitives.transactions import Transaction


class PriorityQueue:
    """A FIFO queue with lookup by hash, both in constant time.

    Remembers: the transactions. Persists: nothing.
    """

    def __init__(self) -> None:
        self._queued: OrderedDict[bytes, Transaction] = OrderedDict()

    def __len__(self) -> int:
        return len(self._queued)

    def __iter__(self) -> Iterator[Transaction]:
        return iter(self._queued.values())

    @property
    def first(self) -> Transaction | None:
        """The transaction to be included next."""
        return next(iter(self._queued.values()), None)

    @property
    def last(self) -> Transaction | None:
        """The transaction that was added last."""
        return next(reversed(self._queued.values()), None)

    def get(self, transaction_hash: bytes) -> Transaction | None:
        """Return the transaction with this hash."""
        return self._queued.get(transaction_hash)

    def append(self, transaction: Transaction) -> None:
        """Add a transaction at the end."""
        self._queued[transaction.hash] = transaction

    def pop_first(self) -> None:
        """Remove the first transaction."""
        self._queued.popitem(last=False)

    def push_front(self, transactions: Sequence[Transaction]) -> None:
        """Add transactions at the front, in their order."""
        for transaction in reversed(transactions):
            self._queued[transaction.hash] = transaction
            self._queued.move_to_end(transaction.hash, last=False)

    def replace(self, transactions: Sequence[Transaction]) -> None:
        """Replace the content of the queue."""
        if self._queued or transactions:
            self._queued = OrderedDict((it.hash, it) for it in transactions)
