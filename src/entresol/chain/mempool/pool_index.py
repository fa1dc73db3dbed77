"""The transactions of a mempool, indexed: by hash and sender, in the order for a block, and in that of eviction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.chain.mempool.eviction import EvictionQueue
from entresol.chain.mempool.ordering import HeadQueue, Pricing
from entresol.chain.mempool.paymaster_debts import PaymasterDebts
from entresol.chain.mempool.queue_lifetime import QueueLifetime
from entresol.chain.mempool.validation import read_sender
from entresol.chain.mempool.view import PoolView

if TYPE_CHECKING:
    from entresol.chain.mempool.config import Order
    from entresol.chain.mempool.ordering import BestTransactions
    from entresol.chain.mempool.senders import PooledTransaction, SenderTransactions
    from entresol.execution.account_senders import AccountReader


class PoolIndex(PoolView):
    """Inserts and removes transactions that `Mempool` has checked, and orders them by what they pay."""

    def __init__(self, accounts: AccountReader, pricing: Pricing, queue_seconds: float) -> None:
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
