"""Which pooled transaction goes into a block first, and which leaves a full pool first.

Both orders are heaps that keep what is outdated until it surfaces, and that are built when they are
first needed.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final, Literal, Self, TypeAlias

import msgspec

from entresol.errors import PoolFull

if TYPE_CHECKING:
    from entresol.chain.mempool.senders import PooledTransaction, SenderTransactions
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Address

Order: TypeAlias = Literal["fees", "fifo"]
Lanes: TypeAlias = "dict[Address, SenderTransactions]"

# The rank, the arrival, which no two entries share, and the entry.
_Head: TypeAlias = "tuple[int, int, PooledTransaction]"
# Whether it is pending, its tip, the arrival with the latest first, and the entry.
_Tail: TypeAlias = "tuple[bool, int, int, PooledTransaction]"

# Outdated entries that a heap may hold beside as many as it has valid ones.
_SPARE: Final = 64


class Pricing(msgspec.Struct, frozen=True):
    """How transactions compare under a base fee."""

    order: Order
    base_fee: int

    def tip(self, entry: PooledTransaction) -> int:
        """Return what the producer would get for a unit of gas; negative below the base fee."""
        return min(entry.tip, entry.fee_cap - self.base_fee)

    def rank(self, entry: PooledTransaction) -> int:
        """Return a number that is smaller the sooner `entry` goes; equals go by arrival."""
        return 0 if self.order == "fifo" else -self.tip(entry)


class BestTransactions:
    """The pending transactions in the order in which a block takes them.

    It follows what is removed from the pool meanwhile, but not what is added.
    """

    def __init__(self, heap: list[_Head], lanes: Lanes, pricing: Pricing) -> None:
        self._heap = heap
        self._lanes = lanes
        self._pricing = pricing
        self._expected: dict[Address, int] = {}
        self._last: PooledTransaction | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Transaction:
        if self._last is not None:
            self._offer_next_of(self._last)
        while self._heap:
            entry = heappop(self._heap)[-1]
            if self._is_due(entry):
                self._expected[entry.sender] = entry.nonce + 1
                self._last = entry
                return entry.transaction
        self._last = None
        raise StopIteration

    def skip_sender(self, sender: Address) -> None:
        """Leave out whatever else there is from `sender`."""
        self._expected[sender] = -1

    def _is_due(self, entry: PooledTransaction) -> bool:
        lane = self._lanes.get(entry.sender)
        if lane is None or lane.entries.get(entry.nonce) is not entry:
            return False
        return entry.nonce == self._expected.get(entry.sender, lane.nonce)

    def _offer_next_of(self, entry: PooledTransaction) -> None:
        lane = self._lanes.get(entry.sender)
        following = entry.nonce + 1
        if lane is None or following >= lane.gap or self._expected[entry.sender] != following:
            return
        candidate = lane.entries[following]
        if candidate.fee_cap >= self._pricing.base_fee:
            rank = self._pricing.rank(candidate)
            heappush(self._heap, (rank, candidate.arrival, candidate))


class HeadQueue:
    """The senders' next transactions, by who goes first."""

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes
        self._heap: list[_Head] | None = None

    def forget(self) -> None:
        """Start anew, because the pricing or everything else has changed."""
        self._heap = None

    def note(self, lane: SenderTransactions, pricing: Pricing) -> None:
        """Take account of a lane with another head than before."""
        if self._heap is None or (entry := lane.head) is None:
            return
        if entry.fee_cap >= pricing.base_fee:
            heappush(self._heap, (pricing.rank(entry), entry.arrival, entry))
        if len(self._heap) > 2 * len(self._lanes) + _SPARE:
            self._heap = None

    def best(self, pricing: Pricing) -> BestTransactions:
        """Return an iterator over what is pending and pays the base fee."""
        if self._heap is None:
            self._heap = self._build(pricing)
        # What blocks have included was at the top, and would be copied for ever.
        while self._heap and not self._is_head(self._heap[0][-1]):
            heappop(self._heap)
        return BestTransactions(self._heap.copy(), self._lanes, pricing)

    def _build(self, pricing: Pricing) -> list[_Head]:
        heads = (lane.head for lane in self._lanes.values())
        heap = [
            (pricing.rank(entry), entry.arrival, entry)
            for entry in heads
            if entry is not None and entry.fee_cap >= pricing.base_fee
        ]
        heapify(heap)
        return heap

    def _is_head(self, entry: PooledTransaction) -> bool:
        lane = self._lanes.get(entry.sender)
        return lane is not None and lane.head is entry


class EvictionQueue:
    """The senders' last transactions, by who leaves first: queued before pending, then by tip.

    Only a sender's last transaction can leave, so that none is left behind a gap.
    """

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes
        self._heap: list[_Tail] | None = None

    def forget(self) -> None:
        """Start anew, because the pricing or everything else has changed."""
        self._heap = None

    def note(self, lane: SenderTransactions, pricing: Pricing) -> None:
        """Take account of a lane whose last entry, or its being pending, has changed."""
        if self._heap is None:
            return
        _offer(self._heap, lane, 0, pricing)
        self._limit()

    def select_victims(
        self, newcomer: IncomingTransaction, pricing: Pricing
    ) -> list[PooledTransaction]:
        """Return who leaves for a newcomer, the worst first; reject one that is no better."""
        heap = self._built(pricing)
        excess, excess_bytes = newcomer.excess, newcomer.excess_bytes
        depths: dict[Address, int] = {}
        if newcomer.leaving:
            depths[newcomer.entry.sender] = newcomer.leaving
            _offer(heap, self._lanes[newcomer.entry.sender], newcomer.leaving, pricing)
        leaving: list[PooledTransaction] = []
        while excess > 0 or excess_bytes > 0:
            worst = self._pop(heap, depths)
            if worst is None or not newcomer.is_better_than(worst, pricing):
                self._offer_again(heap, depths, worst, pricing)
                raise PoolFull
            entry = worst[-1]
            leaving.append(entry)
            excess, excess_bytes = excess - 1, excess_bytes - entry.size
            depths[entry.sender] = depths.get(entry.sender, 0) + 1
            _offer(heap, self._lanes[entry.sender], depths[entry.sender], pricing)
        return leaving

    def _built(self, pricing: Pricing) -> list[_Tail]:
        if self._heap is None:
            self._heap = []
            for lane in self._lanes.values():
                _offer(self._heap, lane, 0, pricing)
        return self._heap

    def _pop(self, heap: list[_Tail], depths: dict[Address, int]) -> _Tail | None:
        while heap:
            tail = heappop(heap)
            is_pending, entry = tail[0], tail[-1]
            lane = self._lanes.get(entry.sender)
            if lane is None or lane.from_end(depths.get(entry.sender, 0)) is not entry:
                continue
            if is_pending == (entry.nonce < lane.gap):
                return tail
        return None

    def _offer_again(
        self, heap: list[_Tail], depths: dict[Address, int], worst: _Tail | None, pricing: Pricing
    ) -> None:
        senders = depths if worst is None else {**depths, worst[-1].sender: 0}
        for sender in senders:
            if (lane := self._lanes.get(sender)) is not None:
                _offer(heap, lane, 0, pricing)
        self._limit()

    def _limit(self) -> None:
        if self._heap is not None and len(self._heap) > 2 * len(self._lanes) + _SPARE:
            self._heap = None


class IncomingTransaction(msgspec.Struct, frozen=True, kw_only=True):
    """A transaction that asks for room in a full pool.

    `leaving` is how many of its sender's last entries leave anyway; `excess` and `excess_bytes` are
    what the pool has too much even so.
    """

    entry: PooledTransaction
    is_pending: bool
    leaving: int
    excess: int
    excess_bytes: int

    def is_better_than(self, tail: _Tail, pricing: Pricing) -> bool:
        """Say whether `tail` may leave for this one, which must not need it."""
        other = tail[-1]
        if other.sender == self.entry.sender and other.nonce <= self.entry.nonce:
            return False
        return tail[:2] < (self.is_pending, pricing.tip(self.entry))


def _offer(heap: list[_Tail], lane: SenderTransactions, depth: int, pricing: Pricing) -> None:
    if (entry := lane.from_end(depth)) is not None:
        is_pending = entry.nonce < lane.gap
        heappush(heap, (is_pending, pricing.tip(entry), -entry.arrival, entry))
