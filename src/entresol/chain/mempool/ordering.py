"""Order of pending transactions: by effective tip or by arrival, and by nonce for each sender.

The heap keeps outdated entries until they surface, and is built when it is first needed.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final, Self, TypeAlias

import msgspec

from entresol.chain.mempool.config import Order

if TYPE_CHECKING:
    from entresol.chain.mempool.senders import PooledTransaction, Senders, SenderTransactions
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Address


# The rank, the arrival, which is unique, and the entry.
_Head: TypeAlias = "tuple[int, int, PooledTransaction]"

SPARE_ENTRIES: Final = 64
"""How many outdated entries a heap may hold beside as many as it has valid ones."""


class Pricing(msgspec.Struct, frozen=True):
    """How transactions compare under a base fee."""

    order: Order
    base_fee: int
    blob_base_fee: int = 0

    def reaches(self, entry: PooledTransaction) -> bool:
        """Return whether a transaction pays the base fees of the next block."""
        if entry.fee_cap < self.base_fee:
            return False
        return entry.blob_fee_cap is None or entry.blob_fee_cap >= self.blob_base_fee

    def tip(self, entry: PooledTransaction) -> int:
        """Return the effective tip for a unit of gas; negative below the base fee."""
        return min(entry.tip, entry.fee_cap - self.base_fee)

    def rank(self, entry: PooledTransaction) -> int:
        """Return the sort key of `entry`, the lowest first; ties are broken by arrival."""
        return 0 if self.order == "fifo" else -self.tip(entry)


class BestTransactions:
    """An iterator over the pending transactions in the order in which a block includes them.

    Transactions that leave the pool meanwhile are skipped; those that enter it are not seen.
    """

    def __init__(self, heap: list[_Head], senders: Senders, pricing: Pricing) -> None:
        self._heap = heap
        self._senders = senders
        self._pricing = pricing
        self._expected: dict[Address, int] = {}
        self._last: PooledTransaction | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Transaction:
        if self._last is not None:
            self._push_next_of(self._last)
        while self._heap:
            entry = heappop(self._heap)[-1]
            if self._is_next(entry):
                self._expected[entry.sender] = entry.nonce + 1
                self._last = entry
                return entry.transaction
        self._last = None
        raise StopIteration

    def skip_sender(self, sender: Address) -> None:
        """Skip all further transactions of `sender`."""
        self._expected[sender] = -1

    def _is_next(self, entry: PooledTransaction) -> bool:
        sender_txs = self._senders.get(entry.sender)
        if sender_txs is None or sender_txs.entries.get(entry.nonce) is not entry:
            return False
        return entry.nonce == self._expected.get(entry.sender, sender_txs.nonce)

    def _push_next_of(self, entry: PooledTransaction) -> None:
        sender_txs = self._senders.get(entry.sender)
        nonce = entry.nonce + 1
        if sender_txs is None or nonce >= sender_txs.gap or self._expected[entry.sender] != nonce:
            return
        candidate = sender_txs.entries[nonce]
        if self._pricing.reaches(candidate):
            rank = self._pricing.rank(candidate)
            heappush(self._heap, (rank, candidate.arrival, candidate))


class HeadQueue:
    """A priority queue of each sender's next executable transaction."""

    def __init__(self, senders: Senders) -> None:
        self._senders = senders
        self._heap: list[_Head] | None = None

    def invalidate(self) -> None:
        """Rebuild the queue before its next use, because the pricing has changed."""
        self._heap = None

    def update(self, sender_txs: SenderTransactions, pricing: Pricing) -> None:
        """Enter the new head of a sender."""
        if self._heap is None or (entry := sender_txs.head) is None:
            return
        if pricing.reaches(entry):
            heappush(self._heap, (pricing.rank(entry), entry.arrival, entry))
        if len(self._heap) > 2 * len(self._senders) + SPARE_ENTRIES:
            self._heap = None

    def best(self, pricing: Pricing) -> BestTransactions:
        """Return an iterator over the pending transactions that pay the base fee."""
        if self._heap is None:
            self.build(pricing)
        assert self._heap is not None
        # Included transactions were at the top, and would be copied on every call.
        while self._heap and not self._is_head(self._heap[0][-1]):
            heappop(self._heap)
        return BestTransactions(self._heap.copy(), self._senders, pricing)

    def build(self, pricing: Pricing) -> None:
        """Build the queue of all senders."""
        heads = (sender_txs.head for sender_txs in self._senders.values())
        heap = [
            (pricing.rank(entry), entry.arrival, entry)
            for entry in heads
            if entry is not None and pricing.reaches(entry)
        ]
        heapify(heap)
        self._heap = heap

    def _is_head(self, entry: PooledTransaction) -> bool:
        sender_txs = self._senders.get(entry.sender)
        return sender_txs is not None and sender_txs.head is entry
