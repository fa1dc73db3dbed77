"""Eviction: which transactions leave a full pool for a better one."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from entresol.chain.mempool.ordering import SPARE_ENTRIES, Pricing
from entresol.errors import PoolRejection

if TYPE_CHECKING:
    from entresol.chain.mempool.config import PoolConfig
    from entresol.chain.mempool.senders import PooledTransaction, Senders, SenderTransactions
    from entresol.primitives.values import Address


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
    """A priority queue of each sender's last transaction, the first to be evicted on top.

    Only a sender's last transaction can be evicted, so that eviction leaves no nonce gap.
    """

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
