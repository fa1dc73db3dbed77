"""The transactions of a mempool, indexed: by hash and sender, in the order for a block, and in that of eviction."""

from __future__ import annotations

from collections.abc import Iterator, KeysView
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import msgspec

from entresol._native import read_sender, transaction_count
from entresol.chain.mempool.account_rules import PaymasterDebts
from entresol.chain.mempool.ordering import EvictionQueue, HeadQueue, Pricing
from entresol.chain.mempool.senders import QueueLifetime
from entresol.execution.evm_env import State

if TYPE_CHECKING:
    from entresol.chain.mempool.account_rules import Penalties
    from entresol.chain.mempool.ordering import BestTransactions, Order
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
    """None if no address has failed or paid."""

    @property
    def size(self) -> int:
        """How many bytes of memory it holds at most: those of transactions that others hold too, and its own."""
        penalties = 0 if self.penalties is None else _BYTES_PER_PENALTY * self.penalties.known
        return _BYTES_PER_SENDER * self.senders + penalties + self.entry_bytes


class PoolView:
    """The transactions of a mempool: pending, or queued behind a nonce gap."""

    def __init__(self, accounts: State) -> None:
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
        """Return the first nonce neither used nor pending; an impersonated contract account counts by that of its account."""
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
            gaps = {sender_txs.sender: sender_txs.gap for sender_txs in self._senders.values()}
            return PoolListing(tuple(self._entries.values()), gaps)
        selected = self._selected(sender)
        entries = (entry for sender_txs in selected for entry in sender_txs.entries.values())
        return PoolListing(
            tuple(entries), {sender_txs.sender: sender_txs.gap for sender_txs in selected}
        )

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


class PoolIndex(PoolView):
    """Inserts and removes transactions that `Mempool` has checked, and orders them by what they pay."""

    def __init__(self, accounts: State, pricing: Pricing, queue_seconds: float) -> None:
        super().__init__(accounts)
        self._pricing = pricing
        self._heads = HeadQueue(self._senders)
        self._evictions = EvictionQueue(self._senders)
        self._debts = PaymasterDebts()
        self._lifetime = QueueLifetime(queue_seconds)
        self._arrivals = 0
        self._bytes = 0
        self.version = 0
        """Changes whenever a block built from the pool may change."""

    @property
    def size(self) -> int:
        """How many bytes of memory the transactions take, roughly."""
        return self._bytes

    @property
    def base_fee(self) -> int:
        """The base fee of the next block."""
        return self._pricing.base_fee

    @base_fee.setter
    def base_fee(self, base_fee: int) -> None:
        if base_fee != self._pricing.base_fee:
            self._reprice(Pricing(self.order, base_fee, self.blob_base_fee))

    @property
    def blob_base_fee(self) -> int:
        """The base fee per blob gas of the next block."""
        return self._pricing.blob_base_fee

    @blob_base_fee.setter
    def blob_base_fee(self, blob_base_fee: int) -> None:
        if blob_base_fee != self._pricing.blob_base_fee:
            self._reprice(Pricing(self.order, self.base_fee, blob_base_fee))

    def set_base_fees(self, base_fee: int, blob_base_fee: int) -> None:
        """Set both base fees of the next block."""
        known = self._pricing
        if base_fee != known.base_fee or blob_base_fee != known.blob_base_fee:
            self._reprice(Pricing(known.order, base_fee, blob_base_fee))

    @property
    def order(self) -> Order:
        """The order in which a block includes transactions; at first that of the configuration."""
        return self._pricing.order

    @order.setter
    def order(self, order: Order) -> None:
        self._reprice(Pricing(order, self.base_fee, self.blob_base_fee))

    def best(self) -> BestTransactions:
        """Return the pending transactions that pay the base fee, in the order for a block."""
        return self._heads.best(self._pricing)

    def adopt(self, other: PoolIndex) -> None:
        """Take over the transactions of another pool, which is not used any more."""
        self.version += 1
        order = self.order
        self._accounts, self._pricing = other._accounts, other._pricing
        self._entries, self._senders = other._entries, other._senders
        self._heads, self._evictions = other._heads, other._evictions
        self._debts, self._lifetime = other._debts, other._lifetime
        self._arrivals, self._bytes = other._arrivals, other._bytes
        self.order = order

    def _insert(
        self,
        sender_txs: SenderTransactions,
        entry: PooledTransaction,
        replaced: PooledTransaction | None,
    ) -> list[PooledTransaction]:
        """Insert a transaction in place of one with its nonce; return those that are pending now."""
        self.version += 1
        if replaced is not None:
            self._delete(replaced)
        self._entries[entry.transaction.hash] = entry
        self._senders[entry.sender] = sender_txs
        self._bytes += entry.size
        self._arrivals += 1
        promoted = sender_txs.put(entry)
        self._debts.update(sender_txs)
        self._lifetime.update(sender_txs, has_promoted=bool(promoted))
        if entry.nonce == sender_txs.nonce:
            self._heads.update(sender_txs, self._pricing)
        self._evictions.update(sender_txs, self._pricing)
        return promoted

    def _update_sender(
        self, sender_txs: SenderTransactions
    ) -> tuple[list[PooledTransaction], list[PooledTransaction]]:
        """Apply the account's nonce, balance and code; return what is removed and what is promoted."""
        nonce, sender_txs.balance, has_code = read_sender(
            self._accounts, sender_txs.sender, is_account=sender_txs.is_account
        )
        signed = sender_txs.remove_signed() if has_code else []
        if sender_txs.is_unaffected_at(nonce) and not signed:
            return [], []
        removed, promoted = sender_txs.advance_to(nonce)
        removed += [*signed, *sender_txs.remove_unaffordable()]
        self._removed_from(sender_txs)
        if promoted:
            self._lifetime.update(sender_txs, has_promoted=True)
        self._heads.update(sender_txs, self._pricing)
        return removed, [entry for entry in promoted if entry.nonce < sender_txs.gap]

    def _discard(self, entry: PooledTransaction) -> None:
        """Remove a transaction everywhere; those of its sender with higher nonces become queued."""
        self.version += 1
        sender_txs = self._senders[entry.sender]
        sender_txs.remove(entry)
        self._delete(entry)
        self._removed_from(sender_txs)

    def _delete(self, entry: PooledTransaction) -> None:
        """Remove a transaction that its sender's list does not have any more."""
        del self._entries[entry.transaction.hash]
        self._bytes -= entry.size

    def _removed_from(self, sender_txs: SenderTransactions) -> None:
        """Index a sender anew after transactions were removed."""
        self._debts.update(sender_txs)
        self._lifetime.update(sender_txs)
        if not sender_txs.nonces:
            del self._senders[sender_txs.sender]
        else:
            self._evictions.update(sender_txs, self._pricing)

    def _discard_unpaid(self, promoted: list[PooledTransaction]) -> list[PooledTransaction]:
        """Remove those that have become pending and exceed what their paymasters can pay, the last first."""
        removed = []
        for entry in reversed(promoted):
            paymaster = entry.paymaster
            if paymaster is not None and self._debts.are_exceeded(paymaster, self._accounts):
                self._discard(entry)
                removed.append(entry)
        return removed

    def _discard_expired(self) -> None:
        """Remove what has waited for a nonce for too long."""
        for sender in self._lifetime.expired():
            for entry in self._senders[sender].queued():
                self._discard(entry)

    def _reprice(self, pricing: Pricing) -> None:
        if pricing != self._pricing:
            self.version += 1
            self._pricing = pricing
            self._heads.invalidate()
            self._evictions.invalidate()
