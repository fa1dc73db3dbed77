"""The transactions from L1 that no block has yet: in the order L1 gave them, and found by their hash."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from entresol.primitives.transactions import Transaction


class PriorityQueue:
    """A queue whose items can also be asked for, at a cost that does not depend on its length.

    Remembers: the transactions. Persists: nothing.
    """

    def __init__(self) -> None:
        self._waiting: OrderedDict[bytes, Transaction] = OrderedDict()

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Transaction]:
        return iter(self._waiting.values())

    @property
    def first(self) -> Transaction | None:
        """The one whose turn it is."""
        return next(iter(self._waiting.values()), None)

    @property
    def last(self) -> Transaction | None:
        """The one that came last."""
        return next(reversed(self._waiting.values()), None)

    def get(self, transaction_hash: bytes) -> Transaction | None:
        """Return the one with this hash."""
        return self._waiting.get(transaction_hash)

    def append(self, transaction: Transaction) -> None:
        """Add one behind all others."""
        self._waiting[transaction.hash] = transaction

    def pop_first(self) -> None:
        """Forget the one whose turn it was."""
        self._waiting.popitem(last=False)

    def push_front(self, transactions: Sequence[Transaction]) -> None:
        """Let some wait again, in their order, before all others."""
        for transaction in reversed(transactions):
            self._waiting[transaction.hash] = transaction
            self._waiting.move_to_end(transaction.hash, last=False)

    def replace(self, transactions: Iterable[Transaction]) -> None:
        """Let these wait, and no others."""
        self._waiting = OrderedDict((it.hash, it) for it in transactions)
