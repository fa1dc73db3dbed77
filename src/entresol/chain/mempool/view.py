"""Reading a mempool: what is in it, by hash, by sender and nonce, and by arrival."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from entresol.chain.mempool.validation import AccountReader

if TYPE_CHECKING:
    from entresol.chain.mempool.ordering import Pricing
    from entresol.chain.mempool.senders import PooledTransaction, SenderTransactions
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Address

BySender: TypeAlias = "dict[Address, dict[int, Transaction]]"


class PoolCounts(NamedTuple):
    """How many transactions there are of either kind."""

    pending: int
    queued: int


class PoolCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A mempool as it was, to go back to."""

    entries: tuple[PooledTransaction, ...]
    nonces: dict[Address, int]
    balances: dict[Address, int]
    pricing: Pricing
    arrivals: int


class PoolView:
    """The transactions of a mempool: pending ones, and those queued behind a missing nonce."""

    def __init__(self, accounts: AccountReader) -> None:
        self._accounts = accounts
        # In the order of arrival: a dictionary keeps it, and every arrival is put at its end.
        self._entries: dict[bytes, PooledTransaction] = {}
        self._lanes: dict[Address, SenderTransactions] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, transaction_hash: bytes) -> bool:
        return transaction_hash in self._entries

    def __iter__(self) -> Iterator[Transaction]:
        """Yield every transaction in the order of arrival."""
        return (entry.transaction for entry in self._entries.values())

    def get(self, transaction_hash: bytes) -> Transaction | None:
        """Return the transaction with this hash."""
        entry = self._entries.get(transaction_hash)
        return None if entry is None else entry.transaction

    def find(self, sender: Address, nonce: int) -> Transaction | None:
        """Return the transaction of a sender with this nonce."""
        lane = self._lanes.get(sender)
        entry = None if lane is None else lane.entries.get(nonce)
        return None if entry is None else entry.transaction

    def is_pending(self, transaction_hash: bytes) -> bool:
        """Say whether a transaction is here and no earlier nonce is missing."""
        entry = self._entries.get(transaction_hash)
        return entry is not None and entry.nonce < self._lanes[entry.sender].gap

    def next_nonce(self, sender: Address) -> int:
        """Return the first nonce of a sender that is neither used nor pending."""
        lane = self._lanes.get(sender)
        if lane is not None:
            return lane.gap
        account = self._accounts.account(sender)
        return 0 if account is None else account.nonce

    def pending(self, sender: Address | None = None) -> BySender:
        """Return what can be executed, by sender and nonce; of one sender if one is given."""
        found = ((lane.sender, _by_nonce(lane.pending())) for lane in self._lanes_of(sender))
        return {sender: entries for sender, entries in found if entries}

    def queued(self, sender: Address | None = None) -> BySender:
        """Return what waits for a missing nonce, by sender and nonce; of one sender if given."""
        found = ((lane.sender, _by_nonce(lane.queued())) for lane in self._lanes_of(sender))
        return {sender: entries for sender, entries in found if entries}

    def counts(self) -> PoolCounts:
        """Return how many are pending and how many queued."""
        pending = sum(lane.pending_count for lane in self._lanes.values())
        return PoolCounts(pending, len(self._entries) - pending)

    def _lanes_of(self, sender: Address | None) -> list[SenderTransactions]:
        if sender is None:
            return list(self._lanes.values())
        lane = self._lanes.get(sender)
        return [] if lane is None else [lane]


def _by_nonce(entries: list[PooledTransaction]) -> dict[int, Transaction]:
    return {entry.nonce: entry.transaction for entry in entries}
