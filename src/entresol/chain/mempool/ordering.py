"""Capacity and order of a mempool: what a block includes first, and what leaves a full pool for a better one."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final, Literal, Self, TypeAlias

import msgspec

from entresol.errors import PoolRejection
from entresol.execution.evm_env import ValidationLimits

if TYPE_CHECKING:
    from entresol.chain.mempool.senders import PooledTransaction, Senders, SenderTransactions
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Address


Order: TypeAlias = Literal["fees", "fifo"]


class PoolConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How many transactions a mempool holds, and which it prefers.

    `limit_bytes` is memory, of which a transaction takes two to five times its own bytes. A sender may have
    `sender_limit` transactions, `queue_limit` of them behind a nonce gap, for `queue_seconds`.
    """

    order: Order = "fees"
    limit: int = 20_000
    limit_bytes: int = 128 * 1024 * 1024
    sender_limit: int = 4_096
    queue_limit: int = 64
    queue_seconds: float = 10_800.0
    replacement_percent: int = 10
    validation: ValidationLimits = ValidationLimits()


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
    """Pending transactions in the order for a block, without those that leave the pool meanwhile or enter it."""

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


# Whether it is pending, its tip, the arrival with the latest first, and the entry.
_Tail: TypeAlias = "tuple[bool, int, int, PooledTransaction]"


class IncomingTransaction(msgspec.Struct, frozen=True, kw_only=True):
    """A transaction that needs room in a full pool.

    `own_victims` counts the last entries of its sender that are evicted anyway; `excess` and
    `excess_bytes` are by how much the pool would still exceed its limits.
    """

    entry: PooledTransaction
    is_pending: bool
    own_victims: int
    excess: int
    excess_bytes: int

    def outranks(self, tail: _Tail, pricing: Pricing) -> bool:
        """Return whether `tail` may be evicted for this one, which must not depend on it."""
        other = tail[-1]
        if other.sender == self.entry.sender and other.nonce <= self.entry.nonce:
            return False
        return tail[:2] < (self.is_pending, pricing.tip(self.entry))


class EvictionQueue:
    """Each sender's last transaction, which alone can be evicted without a nonce gap; the first to go on top."""

    def __init__(self, senders: Senders) -> None:
        self._senders = senders
        self._heap: list[_Tail] | None = None

    def invalidate(self) -> None:
        """Rebuild the queue before its next use, because the pricing has changed."""
        self._heap = None

    def update(self, sender_txs: SenderTransactions, pricing: Pricing) -> None:
        """Enter the last transaction of a sender, after it or its being pending has changed."""
        if self._heap is None:
            return
        _push(self._heap, sender_txs, 0, pricing)
        self._limit()

    def select_victims(
        self, incoming: IncomingTransaction, pricing: Pricing
    ) -> list[PooledTransaction]:
        """Return what to evict for `incoming`, the worst first; raise `PoolRejection` if it is no better."""
        heap = self.build(pricing)
        excess, excess_bytes = incoming.excess, incoming.excess_bytes
        depths: dict[Address, int] = {}
        if incoming.own_victims:
            depths[incoming.entry.sender] = incoming.own_victims
            _push(heap, self._senders[incoming.entry.sender], incoming.own_victims, pricing)
        victims: list[PooledTransaction] = []
        while excess > 0 or excess_bytes > 0:
            worst = self._pop(heap, depths)
            if worst is None or not incoming.outranks(worst, pricing):
                self._push_back(heap, depths, worst, pricing)
                raise PoolRejection("txpool is full")
            entry = worst[-1]
            victims.append(entry)
            excess, excess_bytes = excess - 1, excess_bytes - entry.size
            depths[entry.sender] = depths.get(entry.sender, 0) + 1
            _push(heap, self._senders[entry.sender], depths[entry.sender], pricing)
        return victims

    def build(self, pricing: Pricing) -> list[_Tail]:
        """Build the queue of all senders, unless it is built."""
        if self._heap is None:
            self._heap = []
            for sender_txs in self._senders.values():
                _push(self._heap, sender_txs, 0, pricing)
        return self._heap

    def _pop(self, heap: list[_Tail], depths: dict[Address, int]) -> _Tail | None:
        while heap:
            tail = heappop(heap)
            is_pending, entry = tail[0], tail[-1]
            sender_txs = self._senders.get(entry.sender)
            depth = depths.get(entry.sender, 0)
            if sender_txs is None or sender_txs.from_end(depth) is not entry:
                continue
            if is_pending == (entry.nonce < sender_txs.gap):
                return tail
        return None

    def _push_back(
        self, heap: list[_Tail], depths: dict[Address, int], worst: _Tail | None, pricing: Pricing
    ) -> None:
        popped = depths if worst is None else {**depths, worst[-1].sender: 0}
        for sender in popped:
            if (sender_txs := self._senders.get(sender)) is not None:
                _push(heap, sender_txs, 0, pricing)
        self._limit()

    def _limit(self) -> None:
        if self._heap is not None and len(self._heap) > 2 * len(self._senders) + SPARE_ENTRIES:
            self._heap = None


def select_own_victims(
    sender_txs: SenderTransactions, entry: PooledTransaction, config: PoolConfig
) -> list[PooledTransaction]:
    """Return the sender's own entry to evict for `entry` if the sender has reached its limit."""
    is_queued = entry.nonce > sender_txs.gap
    if len(sender_txs.nonces) >= config.sender_limit:
        limit = config.sender_limit
    elif is_queued and sender_txs.queued_count >= config.queue_limit:
        limit = config.queue_limit
    else:
        return []
    last = sender_txs.from_end(0)
    # An entry below the last nonce fills a gap, so the last one was queued.
    if last is None or last.nonce < entry.nonce:
        raise PoolRejection(f"account limit exceeded: {limit} transactions")
    return [last]


def _push(heap: list[_Tail], sender_txs: SenderTransactions, depth: int, pricing: Pricing) -> None:
    if (entry := sender_txs.from_end(depth)) is not None:
        is_pending = entry.nonce < sender_txs.gap
        heappush(heap, (is_pending, pricing.tip(entry), -entry.arrival, entry))
