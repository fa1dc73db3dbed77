"""The mempool: transactions that wait for a block."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from entresol.chain.mempool.events import PoolUpdated, TransactionAdded, TransactionDropped
from entresol.chain.mempool.ordering import (
    BestTransactions,
    EvictionQueue,
    HeadQueue,
    IncomingTransaction,
    Order,
    Pricing,
)
from entresol.chain.mempool.senders import PooledTransaction, SenderTransactions, hashes
from entresol.chain.mempool.validation import (
    AccountReader,
    ValidationRules,
    check_replacement,
    check_sender,
    check_transaction,
    drop_reason,
    read_sender,
)
from entresol.chain.mempool.view import PoolCheckpoint, PoolView
from entresol.errors import (
    AlreadyKnown,
    InvalidTransaction,
    PoolFull,
    PoolRejection,
    SenderLimitExceeded,
    SenderNotEOA,
)

if TYPE_CHECKING:
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Address

log = logging.getLogger(__name__)


class PoolConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How much a mempool holds, and what it prefers.

    A sender may have `sender_limit` transactions, `queue_limit` of them behind a missing nonce.
    """

    order: Order = "fees"
    limit: int = 20_000
    limit_bytes: int = 64 * 1024 * 1024
    sender_limit: int = 4_096
    queue_limit: int = 64
    replacement_percent: int = 10


class Mempool(PoolView):
    """Holds transactions until a block includes them or they cannot be executed any more.

    Remembers: transactions by hash and by sender, with the nonce and balance of each sender.
    Persists:  nothing; a restart begins with an empty pool.
    Assumes:   one thread, and that it hears of every change of the head's state, by `on_block` or `reset`.
    Fails:     by rejecting a transaction; a rejection changes nothing. What the account reader raises leaves
               `on_block` and `reset` half done, and calling them again mends that.
    """

    def __init__(
        self,
        rules: ValidationRules,
        accounts: AccountReader,
        *,
        base_fee: int = 0,
        config: PoolConfig | None = None,
    ) -> None:
        super().__init__(accounts)
        self.rules = rules
        self._config = config or PoolConfig()
        self._pricing = Pricing(self._config.order, base_fee)
        self._heads = HeadQueue(self._lanes)
        self._tails = EvictionQueue(self._lanes)
        self._arrivals = 0
        self._bytes = 0
        self.version = 0
        """Another one whenever a block made of the pool may come out otherwise."""

    @property
    def base_fee(self) -> int:
        """The base fee of the next block."""
        return self._pricing.base_fee

    @base_fee.setter
    def base_fee(self, base_fee: int) -> None:
        if base_fee != self._pricing.base_fee:
            self.version += 1
            self._pricing = Pricing(self._config.order, base_fee)
            self._forget_order()

    def add(self, transaction: Transaction) -> TransactionAdded:
        """Take a transaction, or raise an `InvalidTransaction` or a `PoolRejection`."""
        if transaction.hash in self._entries:
            raise AlreadyKnown
        check_transaction(transaction, self.rules)
        entry = PooledTransaction.of(transaction, self._arrivals)
        lane = self._lanes.get(entry.sender)
        if lane is None:
            lane = self._new_sender(transaction)
        replaced = lane.entries.get(entry.nonce)
        check_sender(entry, lane, self.rules, self.base_fee)
        if replaced is not None:
            check_replacement(entry, replaced, self._config.replacement_percent)
        evicted = self._choose_evicted(lane, entry, replaced)
        for victim in evicted:
            self._discard(victim)
        promoted = self._insert(lane, entry, replaced)
        return TransactionAdded(
            hash=transaction.hash,
            is_pending=entry.nonce < lane.gap,
            replaced=None if replaced is None else replaced.transaction.hash,
            promoted=hashes(promoted),
            evicted=hashes(evicted),
        )

    def best(self) -> BestTransactions:
        """Return what is pending and pays the base fee, in the order in which a block takes it."""
        return self._heads.best(self._pricing)

    def remove(self, transaction_hash: bytes, reason: str) -> Transaction | None:
        """Drop a transaction, and queue what its sender sent after it."""
        entry = self._entries.get(transaction_hash)
        if entry is None:
            return None
        log.debug("dropped 0x%s: %s", transaction_hash.hex(), reason)
        self._discard(entry)
        return entry.transaction

    def on_block(
        self,
        included: Sequence[bytes],
        accounts: AccountReader,
        base_fee: int,
        *,
        touched: Iterable[Address] | None = None,
    ) -> PoolUpdated:
        """Follow the head to a block that included transactions; `base_fee` is for the one after.

        `touched` names the accounts that the block changed. With it the cost is that of the block
        instead of that of the pool.
        """
        self.version += 1
        self._accounts = accounts
        self.base_fee = base_fee
        if touched is None:
            senders = list(self._lanes)
        else:
            pooled = [self._entries[known].sender for known in included if known in self._entries]
            senders = [
                sender for sender in dict.fromkeys([*pooled, *touched]) if sender in self._lanes
            ]
        return self._refresh(senders, frozenset(included))

    def reset(
        self, accounts: AccountReader, base_fee: int, *, undone: Iterable[Transaction] = ()
    ) -> PoolUpdated:
        """Follow the head to any other state, and take back what the `undone` blocks included."""
        self.version += 1
        self._accounts = accounts
        self.base_fee = base_fee
        refreshed = self._refresh(list(self._lanes), frozenset())
        promoted, dropped = list(refreshed.promoted), list(refreshed.dropped)
        for transaction in undone:
            try:
                added = self.add(transaction)
            except (InvalidTransaction, PoolRejection) as rejection:
                dropped.append(TransactionDropped(transaction.hash, rejection))
            else:
                promoted += added.promoted
                dropped += [TransactionDropped(evicted, PoolFull()) for evicted in added.evicted]
        return PoolUpdated(tuple(filter(self.is_pending, promoted)), tuple(dropped))

    def snapshot(self) -> PoolCheckpoint:
        """Return the pool as it is; entries are shared, so it costs a copy of their references."""
        lanes = self._lanes.values()
        return PoolCheckpoint(
            entries=tuple(self._entries.values()),
            nonces={lane.sender: lane.nonce for lane in lanes},
            balances={lane.sender: lane.balance for lane in lanes},
            pricing=self._pricing,
            arrivals=self._arrivals,
        )

    def restore(self, snapshot: PoolCheckpoint, accounts: AccountReader) -> None:
        """Make the pool what it was, when the state was what `accounts` reads."""
        self.version += 1
        self._accounts = accounts
        self._pricing = snapshot.pricing
        self._arrivals = snapshot.arrivals
        self._entries = {entry.transaction.hash: entry for entry in snapshot.entries}
        self._bytes = sum(entry.size for entry in snapshot.entries)
        self._lanes.clear()
        for sender, nonce in snapshot.nonces.items():
            self._lanes[sender] = SenderTransactions(sender, nonce, snapshot.balances[sender])
        for entry in snapshot.entries:
            self._lanes[entry.sender].put(entry)
        self._forget_order()

    # --- Adding --------------------------------------------------------------

    def _new_sender(self, transaction: Transaction) -> SenderTransactions:
        l1_sync = read_sender(self._accounts, transaction.sender)
        if l1_sync.has_code and not transaction.is_impersonated:
            raise SenderNotEOA
        return SenderTransactions(transaction.sender, l1_sync.nonce, l1_sync.balance)

    def _choose_evicted(
        self, lane: SenderTransactions, entry: PooledTransaction, replaced: PooledTransaction | None
    ) -> list[PooledTransaction]:
        own = [] if replaced is not None else self._choose_own(lane, entry)
        gone = own if replaced is None else [replaced]
        excess = len(self._entries) + 1 - len(gone) - self._config.limit
        freed = sum(other.size for other in gone)
        excess_bytes = self._bytes + entry.size - freed - self._config.limit_bytes
        if excess <= 0 and excess_bytes <= 0:
            return own
        newcomer = IncomingTransaction(
            entry=entry,
            is_pending=entry.nonce <= lane.gap,
            leaving=len(own),
            excess=excess,
            excess_bytes=excess_bytes,
        )
        return own + self._tails.select_victims(newcomer, self._pricing)

    def _choose_own(
        self, lane: SenderTransactions, entry: PooledTransaction
    ) -> list[PooledTransaction]:
        """Return the sender's own entry that leaves because the sender has too many."""
        is_queued = entry.nonce > lane.gap
        if len(lane.nonces) >= self._config.sender_limit:
            limit = self._config.sender_limit
        elif is_queued and lane.queued_count >= self._config.queue_limit:
            limit = self._config.queue_limit
        else:
            return []
        last = lane.from_end(0)
        # Before the last nonce there is a gap to fill, so what leaves was queued.
        if last is None or last.nonce < entry.nonce:
            raise SenderLimitExceeded(limit)
        return [last]

    def _insert(
        self, lane: SenderTransactions, entry: PooledTransaction, replaced: PooledTransaction | None
    ) -> list[PooledTransaction]:
        self.version += 1
        if replaced is not None:
            del self._entries[replaced.transaction.hash]
            self._bytes -= replaced.size
        self._entries[entry.transaction.hash] = entry
        self._lanes[entry.sender] = lane
        self._bytes += entry.size
        self._arrivals += 1
        promoted = lane.put(entry)
        if entry.nonce == lane.nonce:
            self._heads.note(lane, self._pricing)
        self._tails.note(lane, self._pricing)
        return promoted

    # --- Leaving -------------------------------------------------------------

    def _discard(self, entry: PooledTransaction) -> None:
        self.version += 1
        lane = self._lanes[entry.sender]
        lane.take(entry)
        self._forget(entry)
        self._settle(lane)

    def _forget(self, entry: PooledTransaction) -> None:
        del self._entries[entry.transaction.hash]
        self._bytes -= entry.size

    def _settle(self, lane: SenderTransactions) -> None:
        if not lane.nonces:
            del self._lanes[lane.sender]
        else:
            self._tails.note(lane, self._pricing)

    def _forget_order(self) -> None:
        self._heads.forget()
        self._tails.forget()

    # --- Following the head --------------------------------------------------

    def _refresh(self, senders: list[Address], included: frozenset[bytes]) -> PoolUpdated:
        promoted: list[PooledTransaction] = []
        dropped: list[TransactionDropped] = []
        for sender in senders:
            lane = self._lanes[sender]
            leaving, risen = self._follow(lane)
            for entry in leaving:
                self._forget(entry)
                if entry.transaction.hash not in included:
                    dropped.append(
                        TransactionDropped(entry.transaction.hash, drop_reason(entry, lane))
                    )
            promoted += risen
        for known in included & self._entries.keys():
            self._discard(self._entries[known])
        return PoolUpdated(hashes(promoted), tuple(dropped))

    def _follow(
        self, lane: SenderTransactions
    ) -> tuple[list[PooledTransaction], list[PooledTransaction]]:
        """Bring a lane to where its account is; return what leaves, and what is pending by it."""
        nonce, balance, has_code = read_sender(self._accounts, lane.sender)
        barred = lane.take_signed() if has_code else []
        if lane.stays_with(nonce, balance) and not barred:
            return [], []
        leaving, risen = lane.move_to(nonce)
        leaving += [*barred, *lane.take_unaffordable()]
        self._settle(lane)
        self._heads.note(lane, self._pricing)
        return leaving, [entry for entry in risen if entry.nonce < lane.gap]
