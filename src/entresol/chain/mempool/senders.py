"""The pooled transactions of one sender, by nonce, and how long those wait that cannot be included yet."""

from __future__ import annotations

import time
from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Self, TypeAlias

import msgspec

from entresol.primitives.transactions import BlobTransaction, ZkTransaction

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.primitives.transactions import Payload, Transaction
    from entresol.primitives.values import Address


Senders: TypeAlias = "dict[Address, SenderTransactions]"

# Measured: what a pooled transfer takes, and what an entry of a list takes besides its bytes.
_TRANSACTION_BYTES: Final = 1_536
_LIST_ITEM_BYTES: Final = 128
_AUTHORIZATION_BYTES: Final = 512


def memory_of(transaction: Transaction) -> int:
    """Return how much memory a pooled transaction takes, roughly: its bytes are there raw and decoded."""
    payload = transaction.payload
    lists = _AUTHORIZATION_BYTES * len(payload.authorizations)
    if payload.access_list:
        lists += _LIST_ITEM_BYTES * sum(1 + len(access.slots) for access in payload.access_list)
    blobs = 0 if transaction.sidecar is None else transaction.sidecar.size
    return _TRANSACTION_BYTES + 2 * len(transaction.raw) + lists + blobs


class PooledTransaction(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A pooled transaction with the fields that ordering and validation read.

    `arrival` is a sequence number, `cost` the maximum that its sender pays (gas, blob gas and value), and `size` its
    memory in bytes. `blob_fee_cap` is None without blobs. `debt` is the maximum that its `paymaster` pays, if it has
    one.
    """

    transaction: Transaction
    arrival: int
    sender: Address
    nonce: int
    fee_cap: int
    tip: int
    cost: int
    size: int
    blob_fee_cap: int | None = None
    paymaster: Address | None = None
    debt: int = 0

    @classmethod
    def of(cls, transaction: Transaction, arrival: int) -> Self:
        """Return the pool entry of a transaction."""
        payload = transaction.payload
        fee_cap, blob_fee_cap, blob_fee = payload.fee_cap, None, 0
        if isinstance(payload, BlobTransaction):
            blob_fee_cap = payload.max_fee_per_blob_gas
            blob_fee = blob_fee_cap * payload.blob_gas
        fee = payload.gas_limit * fee_cap
        paymaster = _paymaster_of(payload)
        is_own = paymaster is None or paymaster == transaction.sender
        return cls(
            transaction,
            arrival,
            transaction.sender,
            payload.nonce,
            fee_cap,
            payload.tip,
            payload.value + blob_fee + (fee if is_own else 0),
            memory_of(transaction),
            blob_fee_cap,
            paymaster,
            0 if paymaster is None else fee,
        )


def _paymaster_of(payload: Payload) -> Address | None:
    payer = payload.sponsor if isinstance(payload, ZkTransaction) else None
    return None if payer is None else payer.address


class SenderTransactions:
    """The transactions of one sender: pending up to the first missing nonce, then queued.

    `nonce` and `balance` are those of the account, `gap` is the first missing nonce, and `cost` is that of all entries
    together; `sponsored` are those that a paymaster pays for. If it `is_account`, the entries are a contract account's
    own, and the nonce is that of the nonce holder.
    """

    __slots__ = (
        "balance", "cost", "entries", "gap", "is_account", "nonce", "nonces", "sender", "sponsored",
    )  # fmt: skip

    def __init__(
        self, sender: Address, nonce: int, balance: int, *, is_account: bool = False
    ) -> None:
        self.sender = sender
        self.is_account = is_account
        self.nonce = nonce
        self.balance = balance
        self.gap = nonce
        self.cost = 0
        self.entries: dict[int, PooledTransaction] = {}
        self.sponsored: dict[int, PooledTransaction] = {}
        self.nonces: list[int] = []

    @property
    def head(self) -> PooledTransaction | None:
        """The entry that can be executed next."""
        return self.entries.get(self.nonce)

    @property
    def pending_count(self) -> int:
        """How many entries are executable in sequence."""
        return self.gap - self.nonce

    @property
    def queued_count(self) -> int:
        """How many entries are behind a nonce gap."""
        return len(self.nonces) - self.pending_count

    def pending(self) -> list[PooledTransaction]:
        """Return the entries that are executable in sequence."""
        return [self.entries[nonce] for nonce in self.nonces[: self.pending_count]]

    def queued(self) -> list[PooledTransaction]:
        """Return the entries that are behind a nonce gap."""
        return [self.entries[nonce] for nonce in self.nonces[self.pending_count :]]

    def from_end(self, position: int) -> PooledTransaction | None:
        """Return the entry at `position` from the highest nonce down."""
        nonces = self.nonces
        return self.entries[nonces[-1 - position]] if position < len(nonces) else None

    def put(self, entry: PooledTransaction) -> list[PooledTransaction]:
        """Add or replace an entry; return the entries that become pending."""
        replaced = self.entries.get(entry.nonce)
        self.entries[entry.nonce] = entry
        self.sponsored.pop(entry.nonce, None)
        if entry.paymaster is not None:
            self.sponsored[entry.nonce] = entry
        self.cost += entry.cost
        if replaced is not None:
            self.cost -= replaced.cost
            return [entry] if entry.nonce < self.gap else []
        insort(self.nonces, entry.nonce)
        return self._close_gap() if entry.nonce == self.gap else []

    def remove(self, entry: PooledTransaction) -> None:
        """Remove an entry; those with higher nonces become queued."""
        del self.entries[entry.nonce]
        self.sponsored.pop(entry.nonce, None)
        del self.nonces[bisect_left(self.nonces, entry.nonce)]
        self.cost -= entry.cost
        self.gap = min(self.gap, entry.nonce)

    def advance_to(self, nonce: int) -> tuple[list[PooledTransaction], list[PooledTransaction]]:
        """Set the account's nonce; return the stale entries, and those that become pending."""
        stale = self._remove_below(nonce)
        # An account that advanced along its pending nonces has the same gap.
        is_before_gap = self.nonce <= nonce <= self.gap
        self.nonce = nonce
        if is_before_gap:
            return stale, []
        self.gap = nonce
        return stale, self._close_gap()

    def is_unaffected_at(self, nonce: int) -> bool:
        """Return whether no entry changes if the account has this nonce and `balance`."""
        return nonce == self.nonce and self.cost <= self.balance

    def remove_unaffordable(self) -> list[PooledTransaction]:
        """Remove and return the entries that alone cost more than the balance."""
        if self.cost <= self.balance:
            return []
        removed = [entry for entry in self.entries.values() if entry.cost > self.balance]
        for entry in removed:
            self.remove(entry)
        return removed

    def remove_signed(self) -> list[PooledTransaction]:
        """Remove and return the signed entries: an account with code cannot send them."""
        removed = [
            entry for entry in self.entries.values() if not entry.transaction.is_impersonated
        ]
        for entry in removed:
            self.remove(entry)
        return removed

    def _remove_below(self, nonce: int) -> list[PooledTransaction]:
        count = bisect_left(self.nonces, nonce)
        removed = [self.entries.pop(below) for below in self.nonces[:count]]
        if self.sponsored:
            for entry in removed:
                self.sponsored.pop(entry.nonce, None)
        del self.nonces[:count]
        self.cost -= sum(entry.cost for entry in removed)
        return removed

    def _close_gap(self) -> list[PooledTransaction]:
        closed = []
        while (entry := self.entries.get(self.gap)) is not None:
            closed.append(entry)
            self.gap += 1
        return closed


def hashes(entries: Iterable[PooledTransaction]) -> tuple[bytes, ...]:
    """Return the transaction hashes of entries."""
    return tuple(entry.transaction.hash for entry in entries)


class QueueLifetime:
    """Counts since when each sender has transactions behind a nonce gap, as geth does; promotion counts anew."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._since: dict[Address, float] = {}

    def update(self, sender_txs: SenderTransactions, *, has_promoted: bool = False) -> None:
        """Count a sender's time, after its transactions have changed."""
        sender = sender_txs.sender
        if not sender_txs.queued_count:
            self._since.pop(sender, None)
        elif has_promoted or sender not in self._since:
            self._since.pop(sender, None)
            self._since[sender] = self._clock()

    def expired(self) -> list[Address]:
        """Return the senders whose transactions have waited for too long."""
        if not self._since:
            return []
        end = self._clock() - self._seconds
        found = []
        for sender, since in self._since.items():
            if since > end:
                break
            found.append(sender)
        return found
