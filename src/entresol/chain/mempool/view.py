"""Read access to a mempool: by hash, by sender and nonce, and by arrival."""

from __future__ import annotations

from collections.abc import Iterator, KeysView
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import msgspec

from entresol.execution.account_senders import AccountReader, transaction_count

if TYPE_CHECKING:
    from entresol.chain.mempool.penalties import Penalties
    from entresol.chain.mempool.senders import PooledTransaction, SenderTransactions
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Address

_BYTES_PER_SENDER: Final = 256
_BYTES_PER_PENALTY: Final = 512

BySender: TypeAlias = "dict[Address, dict[int, Transaction]]"


class PoolCounts(NamedTuple):
    """The numbers of pending and queued transactions."""

    pending: int
    queued: int


class PoolListing(msgspec.Struct, frozen=True):
    """The transactions of a mempool at one moment; any thread may read them."""

    entries: tuple[PooledTransaction, ...]
    gaps: dict[Address, int]
    """The first missing nonce of each sender."""

    def __len__(self) -> int:
        return len(self.entries)

    def is_pending(self, entry: PooledTransaction) -> bool:
        """Return whether a transaction is not behind a nonce gap."""
        return entry.nonce < self.gaps[entry.sender]

    def by_sender(self) -> Iterator[PooledTransaction]:
        """Yield the transactions sender by sender, in the order of their nonces."""
        grouped: dict[Address, list[PooledTransaction]] = {sender: [] for sender in self.gaps}
        for entry in self.entries:
            grouped[entry.sender].append(entry)
        for entries in grouped.values():
            yield from sorted(entries, key=lambda entry: entry.nonce)


class PoolCheckpoint(msgspec.Struct, frozen=True):
    """The content of a mempool, to restore it; nonces and balances are in the state of that moment."""

    entries: tuple[PooledTransaction, ...]
    senders: int
    entry_bytes: int
    arrivals: int
    penalties: Penalties | None
    """None if no address has failed."""

    @property
    def size(self) -> int:
        """How many bytes of memory it holds at most: those of transactions that others hold too, and its own."""
        penalties = 0 if self.penalties is None else _BYTES_PER_PENALTY * len(self.penalties)
        return _BYTES_PER_SENDER * self.senders + penalties + self.entry_bytes


class PoolView:
    """The transactions of a mempool: pending, or queued behind a nonce gap."""

    def __init__(self, accounts: AccountReader) -> None:
        self._accounts = accounts
        # A dictionary keeps the order of arrival.
        self._entries: dict[bytes, PooledTransaction] = {}
        self._senders: dict[Address, SenderTransactions] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, transaction_hash: bytes) -> bool:
        return transaction_hash in self._entries

    def __iter__(self) -> Iterator[Transaction]:
        """Yield every transaction in the order of arrival."""
        return (entry.transaction for entry in self._entries.values())

    @property
    def hashes(self) -> KeysView[bytes]:
        """The hashes of all transactions, as they are at any time."""
        return self._entries.keys()

    def arrival(self, transaction_hash: bytes) -> int:
        """Return the place of a transaction in the order of arrival."""
        return self._entries[transaction_hash].arrival

    def get(self, transaction_hash: bytes) -> Transaction | None:
        """Return the transaction with this hash."""
        entry = self._entries.get(transaction_hash)
        return None if entry is None else entry.transaction

    def find(self, sender: Address, nonce: int) -> Transaction | None:
        """Return the transaction of a sender with this nonce."""
        sender_txs = self._senders.get(sender)
        entry = None if sender_txs is None else sender_txs.entries.get(nonce)
        return None if entry is None else entry.transaction

    def is_pending(self, transaction_hash: bytes) -> bool:
        """Return whether a transaction is in the pool and not behind a nonce gap."""
        entry = self._entries.get(transaction_hash)
        return entry is not None and entry.nonce < self._senders[entry.sender].gap

    def next_nonce(self, sender: Address, *, is_impersonated: bool = False) -> int:
        """Return the first nonce of a sender that is neither used nor pending.

        An impersonated contract account counts by the nonce in its account, as any other contract.
        """
        sender_txs = self._senders.get(sender)
        if sender_txs is not None:
            return sender_txs.gap
        if is_impersonated:
            account = self._accounts.account(sender)
            return 0 if account is None else account.nonce
        return transaction_count(self._accounts, sender)

    def listing(self, sender: Address | None = None) -> PoolListing:
        """Return the transactions of all senders or of one, as they are now."""
        if sender is None:
            gaps = {it.sender: it.gap for it in self._senders.values()}
            return PoolListing(tuple(self._entries.values()), gaps)
        selected = self._selected(sender)
        entries = (entry for it in selected for entry in it.entries.values())
        return PoolListing(tuple(entries), {it.sender: it.gap for it in selected})

    def pending(self, sender: Address | None = None) -> BySender:
        """Return the pending transactions by sender and nonce, of all senders or of one."""
        found = (
            (sender_txs.sender, _by_nonce(sender_txs.pending()))
            for sender_txs in self._selected(sender)
        )
        return {sender: entries for sender, entries in found if entries}

    def queued(self, sender: Address | None = None) -> BySender:
        """Return the queued transactions by sender and nonce, of all senders or of one."""
        found = (
            (sender_txs.sender, _by_nonce(sender_txs.queued()))
            for sender_txs in self._selected(sender)
        )
        return {sender: entries for sender, entries in found if entries}

    def counts(self) -> PoolCounts:
        """Return the numbers of pending and queued transactions."""
        pending = sum(sender_txs.pending_count for sender_txs in self._senders.values())
        return PoolCounts(pending, len(self._entries) - pending)

    def _selected(self, sender: Address | None) -> list[SenderTransactions]:
        if sender is None:
            return list(self._senders.values())
        sender_txs = self._senders.get(sender)
        return [] if sender_txs is None else [sender_txs]


def _by_nonce(entries: list[PooledTransaction]) -> dict[int, Transaction]:
    return {entry.nonce: entry.transaction for entry in entries}
