"""The pooled transactions of one sender, in the order of their nonces."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import TYPE_CHECKING, Self

import msgspec

if TYPE_CHECKING:
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Address


class PooledTransaction(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A pooled transaction, with what is asked of it often.

    `arrival` counts up, and `cost` is the most wei that it can take from its sender.
    """

    transaction: Transaction
    arrival: int
    sender: Address
    nonce: int
    fee_cap: int
    tip: int
    cost: int
    size: int

    @classmethod
    def of(cls, transaction: Transaction, arrival: int) -> Self:
        """Wrap a transaction that arrives now."""
        payload = transaction.payload
        fee_cap = payload.fee_cap
        return cls(
            transaction,
            arrival,
            transaction.sender,
            payload.nonce,
            fee_cap,
            payload.tip,
            payload.gas_limit * fee_cap + payload.value,
            len(transaction.raw),
        )


class SenderTransactions:
    """The transactions of one sender: pending up to the first nonce that is missing, then queued.

    `nonce` and `balance` are those of the account, `gap` is the first nonce that is missing, and
    `cost` is what all entries together may take.
    """

    __slots__ = ("balance", "cost", "entries", "gap", "nonce", "nonces", "sender")

    def __init__(self, sender: Address, nonce: int, balance: int) -> None:
        self.sender = sender
        self.nonce = nonce
        self.balance = balance
        self.gap = nonce
        self.cost = 0
        self.entries: dict[int, PooledTransaction] = {}
        self.nonces: list[int] = []

    @property
    def head(self) -> PooledTransaction | None:
        """The entry that can be executed next."""
        return self.entries.get(self.nonce)

    @property
    def pending_count(self) -> int:
        """How many entries can be executed one after the other."""
        return self.gap - self.nonce

    @property
    def queued_count(self) -> int:
        """How many entries wait for a nonce before theirs."""
        return len(self.nonces) - self.pending_count

    def pending(self) -> list[PooledTransaction]:
        """Return what can be executed one after the other."""
        return [self.entries[nonce] for nonce in self.nonces[: self.pending_count]]

    def queued(self) -> list[PooledTransaction]:
        """Return what waits for a nonce before its own."""
        return [self.entries[nonce] for nonce in self.nonces[self.pending_count :]]

    def from_end(self, position: int) -> PooledTransaction | None:
        """Return the entry with the highest nonce but `position` others."""
        nonces = self.nonces
        return self.entries[nonces[-1 - position]] if position < len(nonces) else None

    def put(self, entry: PooledTransaction) -> list[PooledTransaction]:
        """Add an entry, in the place of one with its nonce; return what is pending by it."""
        replaced = self.entries.get(entry.nonce)
        self.entries[entry.nonce] = entry
        self.cost += entry.cost
        if replaced is not None:
            self.cost -= replaced.cost
            return [entry] if entry.nonce < self.gap else []
        insort(self.nonces, entry.nonce)
        return self._close_gap() if entry.nonce == self.gap else []

    def take(self, entry: PooledTransaction) -> None:
        """Remove an entry; what follows it is queued."""
        del self.entries[entry.nonce]
        del self.nonces[bisect_left(self.nonces, entry.nonce)]
        self.cost -= entry.cost
        self.gap = min(self.gap, entry.nonce)

    def move_to(self, nonce: int) -> tuple[list[PooledTransaction], list[PooledTransaction]]:
        """Follow the account to its new nonce; return what is stale, and what is pending by it."""
        stale = self._take_below(nonce)
        # An account that moved along its pending nonces leaves the gap where it is.
        is_before_gap = self.nonce <= nonce <= self.gap
        self.nonce = nonce
        if is_before_gap:
            return stale, []
        self.gap = nonce
        return stale, self._close_gap()

    def stays_with(self, nonce: int, balance: int) -> bool:
        """Note the account's balance, and say whether all entries stay as they are."""
        self.balance = balance
        return nonce == self.nonce and self.cost <= balance

    def take_unaffordable(self) -> list[PooledTransaction]:
        """Remove the entries that the balance does not cover even alone, and return them."""
        if self.cost <= self.balance:
            return []
        taken = [entry for entry in self.entries.values() if entry.cost > self.balance]
        for entry in taken:
            self.take(entry)
        return taken

    def take_signed(self) -> list[PooledTransaction]:
        """Remove what a key signed and return it: the account has code now, which no key speaks for."""
        taken = [it for it in self.entries.values() if not it.transaction.is_impersonated]
        for entry in taken:
            self.take(entry)
        return taken

    def _take_below(self, nonce: int) -> list[PooledTransaction]:
        count = bisect_left(self.nonces, nonce)
        taken = [self.entries.pop(below) for below in self.nonces[:count]]
        del self.nonces[:count]
        self.cost -= sum(entry.cost for entry in taken)
        return taken

    def _close_gap(self) -> list[PooledTransaction]:
        closed = []
        while (entry := self.entries.get(self.gap)) is not None:
            closed.append(entry)
            self.gap += 1
        return closed


def hashes(entries: Iterable[PooledTransaction]) -> tuple[bytes, ...]:
    """Return the transaction hashes of entries."""
    return tuple(entry.transaction.hash for entry in entries)
