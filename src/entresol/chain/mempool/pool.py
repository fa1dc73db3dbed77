"""The mempool: validated transactions, pending or queued, until a block includes them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from entresol._native import is_contract_account, read_sender
from entresol.chain.mempool.account_rules import (
    PAYMASTER_LIMIT,
    PaymasterDebts,
    Penalties,
    check_account_limit,
    check_zk_sender,
)
from entresol.chain.mempool.ordering import (
    IncomingTransaction,
    PoolConfig,
    Pricing,
    select_own_victims,
)
from entresol.chain.mempool.pool_index import PoolCheckpoint, PoolIndex
from entresol.chain.mempool.senders import PooledTransaction, SenderTransactions, hashes
from entresol.chain.mempool.validation import (
    ValidationRules,
    check_replacement,
    check_sender,
    check_transaction,
    drop_reason,
)
from entresol.errors import (
    AlreadyKnown,
    EntresolError,
    InvalidTransaction,
    PoolRejection,
    TransactionRuleBroken,
)
from entresol.execution.evm_env import State
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from entresol.primitives.transactions import Transaction


log = logging.getLogger(__name__)


class TransactionAdded(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The result of adding a transaction: what becomes pending by it, itself included, and what was evicted for it."""

    hash: bytes
    is_pending: bool
    replaced: bytes | None
    promoted: tuple[bytes, ...]
    evicted: tuple[bytes, ...]


class TransactionDropped(msgspec.Struct, frozen=True):
    """A transaction that left the pool without being included, and why."""

    hash: bytes
    reason: EntresolError


class PoolUpdated(msgspec.Struct, frozen=True):
    """The result of an update of the pool to a new head."""

    promoted: tuple[bytes, ...] = ()
    dropped: tuple[TransactionDropped, ...] = ()


NOTHING_UPDATED: Final = PoolUpdated()
"""The update of an empty pool to any block."""


class Condition(Protocol):
    """Something without which no transaction is accepted."""

    def rejection(self) -> PoolRejection | None:
        """Return why none is accepted now; it is asked for each transaction."""


class Admission:
    """Rejects what users send while a part of the node cannot keep up; the pool keeps what it has, and deposits pass."""

    def __init__(self) -> None:
        self._conditions: tuple[Condition, ...] = ()

    def add(self, condition: Condition) -> None:
        """Ask a condition from now on."""
        self._conditions = (*self._conditions, condition)

    def remove(self, condition: Condition) -> None:
        """Do not ask a condition any more."""
        self._conditions = tuple(known for known in self._conditions if known is not condition)

    def check(self) -> None:
        """Raise why no transaction is accepted, if none is."""
        for condition in self._conditions:
            if (rejection := condition.rejection()) is not None:
                raise rejection


class Mempool(PoolIndex):
    """Holds transactions until a block includes them or they become invalid.

    Every change of the head's state needs a call of `on_block` or `reset`, on one thread; one that an error of the
    reader of accounts ends is completed by the next.
    """

    def __init__(
        self,
        rules: ValidationRules,
        accounts: State,
        *,
        base_fee: int = 0,
        config: PoolConfig | None = None,
    ) -> None:
        config = config or PoolConfig()
        super().__init__(accounts, Pricing(config.order, base_fee), config.queue_seconds)
        self.rules = rules
        self.config = config
        self.penalties = Penalties()

    def includable_until(self, sender: Address) -> int:
        """Return the first nonce of a sender that the next blocks cannot include: it is missing, or pays too little."""
        sender_txs = self._senders.get(sender)
        for entry in () if sender_txs is None else sender_txs.pending():
            gas_limit = entry.transaction.payload.gas_limit
            if not self._pricing.reaches(entry) or gas_limit > self.rules.gas_limit:
                return entry.nonce
        return self.next_nonce(sender)

    def check(self, transaction: Transaction) -> None:
        """Raise what `add` would raise, except that the pool is full; change nothing."""
        self._checked(transaction)

    def add(self, transaction: Transaction) -> TransactionAdded:
        """Add a transaction, or raise an `InvalidTransaction` or a `PoolRejection`."""
        self._discard_expired()
        entry, sender_txs, replaced = self._checked(transaction)
        evicted = self._select_evicted(sender_txs, entry, replaced)
        for victim in evicted:
            self._discard(victim)
        promoted = self._insert(sender_txs, entry, replaced)
        if unpaid := self._discard_unpaid(promoted):
            evicted += unpaid
            promoted = [other for other in promoted if other.nonce < sender_txs.gap]
        return TransactionAdded(
            hash=transaction.hash,
            is_pending=entry.nonce < sender_txs.gap,
            replaced=None if replaced is None else replaced.transaction.hash,
            promoted=hashes(promoted),
            evicted=hashes(evicted),
        )

    def remove(self, transaction_hash: bytes, reason: str) -> Transaction | None:
        """Drop a transaction; those of its sender with higher nonces become queued."""
        entry = self._entries.get(transaction_hash)
        if entry is None:
            return None
        log.debug("dropped 0x%s: %s", transaction_hash.hex(), reason)
        self._discard(entry)
        return entry.transaction

    def on_block(
        self,
        included: Sequence[bytes],
        accounts: State,
        base_fee: int,
        *,
        touched: Iterable[bytes] | None = None,
    ) -> PoolUpdated:
        """Update the pool after a block that changed the accounts `touched`, all if None; `base_fee` is that of the next one."""
        self.version += 1
        self._accounts = accounts
        self.base_fee = base_fee
        if not self._senders:
            return NOTHING_UPDATED
        self._discard_expired()
        if touched is None:
            senders = list(self._senders)
        else:
            pooled = [self._entries[known].sender for known in included if known in self._entries]
            # A block may change very many accounts, few of which are senders.
            others = [Address(address) for address in touched if address in self._senders]
            senders = [
                sender for sender in dict.fromkeys([*pooled, *others]) if sender in self._senders
            ]
        return self._refresh(senders, frozenset(included))

    def reset(
        self, accounts: State, base_fee: int, *, reverted: Iterable[Transaction] = ()
    ) -> PoolUpdated:
        """Update the pool after a reorg, and add the transactions of `reverted` blocks again."""
        self.version += 1
        self._accounts = accounts
        self.base_fee = base_fee
        refreshed = self._refresh(list(self._senders), frozenset())
        promoted, dropped = list(refreshed.promoted), list(refreshed.dropped)
        for transaction in reverted:
            try:
                added = self.add(transaction)
            except (InvalidTransaction, PoolRejection) as rejection:
                dropped.append(TransactionDropped(transaction.hash, rejection))
            else:
                promoted += added.promoted
                dropped += [
                    TransactionDropped(evicted, PoolRejection("txpool is full"))
                    for evicted in added.evicted
                ]
        return PoolUpdated(tuple(filter(self.is_pending, promoted)), tuple(dropped))

    def clear(self, accounts: State) -> None:
        """Drop all transactions; those to come are checked against another state."""
        self.version += 1
        self._accounts = accounts
        for known in list(self._entries):
            self.remove(known, "dropped")

    def checkpoint(self) -> PoolCheckpoint:
        """Return a checkpoint of the pool; entries are shared, so it costs a copy of references."""
        entries = tuple(self._entries.values())
        return PoolCheckpoint(
            entries, len(self._senders), self._bytes, self._arrivals, self.penalties.copy()
        )

    def restored(self, saved: PoolCheckpoint, accounts: State, base_fee: int) -> Mempool:
        """Return a pool with what a checkpoint has, on some state, to `adopt` it; any thread may call it."""
        pool = Mempool(self.rules, accounts, base_fee=base_fee, config=self.config)
        pool.order, pool.blob_base_fee = self.order, self.blob_base_fee
        pool._arrivals, pool._bytes = saved.arrivals, saved.entry_bytes
        senders = pool._senders
        for entry in saved.entries:
            pool._entries[entry.transaction.hash] = entry
            if (sender_txs := senders.get(entry.sender)) is None:
                is_account = _is_accounts_own(entry, accounts)
                nonce, balance, _ = read_sender(accounts, entry.sender, is_account=is_account)
                sender_txs = senders[entry.sender] = SenderTransactions(
                    entry.sender, nonce, balance, is_account=is_account
                )
            sender_txs.put(entry)
        pool._debts = PaymasterDebts(senders.values())
        for sender_txs in senders.values():
            pool._lifetime.update(sender_txs)
        pool._heads.build(pool._pricing)
        pool._evictions.build(pool._pricing)
        return pool

    def restore_penalties(self, saved: PoolCheckpoint, block: int) -> None:
        """Restore the penalties of a checkpoint at `block`, which is not used any more."""
        if saved.penalties is None:
            self.penalties.clear()
        else:
            self.penalties = saved.penalties
        self.penalties.block = block

    # --- Adding --------------------------------------------------------------

    def _checked(
        self, transaction: Transaction
    ) -> tuple[PooledTransaction, SenderTransactions, PooledTransaction | None]:
        """Check a transaction; return its entry, those of its sender, and which of them it replaces."""
        if transaction.hash in self._entries:
            raise AlreadyKnown
        check_transaction(transaction, self.rules)
        entry = PooledTransaction.of(transaction, self._arrivals)
        is_account = check_zk_sender(transaction, self._accounts, self.rules)
        sender_txs = self._senders.get(entry.sender)
        if sender_txs is None:
            sender_txs = self._new_sender(transaction, is_account=is_account)
        elif sender_txs.is_account != is_account:
            raise PoolRejection(
                "the pool has transactions of this sender, impersonated or its account's own, which count by "
                "another nonce: send this one after they are in a block"
            )
        replaced = sender_txs.entries.get(entry.nonce)
        check_sender(entry, sender_txs, self.rules, self._pricing)
        if replaced is not None:
            check_replacement(entry, replaced, self.config.replacement_percent)
        check_account_limit(sender_txs, replaced)
        self._debts.check(entry, sender_txs, self._accounts)
        self.penalties.check(transaction)
        return entry, sender_txs, replaced

    def _new_sender(self, transaction: Transaction, *, is_account: bool) -> SenderTransactions:
        nonce, balance, has_code = read_sender(
            self._accounts, transaction.sender, is_account=is_account
        )
        if has_code and not transaction.is_impersonated:
            raise TransactionRuleBroken("sender with code")
        return SenderTransactions(transaction.sender, nonce, balance, is_account=is_account)

    def _select_evicted(
        self,
        sender_txs: SenderTransactions,
        entry: PooledTransaction,
        replaced: PooledTransaction | None,
    ) -> list[PooledTransaction]:
        own = [] if replaced is not None else select_own_victims(sender_txs, entry, self.config)
        removed = own if replaced is None else [replaced]
        excess = len(self._entries) + 1 - len(removed) - self.config.limit
        freed = sum([other.size for other in removed]) if removed else 0
        excess_bytes = self._bytes + entry.size - freed - self.config.limit_bytes
        if excess <= 0 and excess_bytes <= 0:
            return own
        incoming = IncomingTransaction(
            entry=entry,
            is_pending=entry.nonce <= sender_txs.gap,
            own_victims=len(own),
            excess=excess,
            excess_bytes=excess_bytes,
        )
        return own + self._evictions.select_victims(incoming, self._pricing)

    # --- Following the head --------------------------------------------------

    def _refresh(self, senders: list[Address], included: frozenset[bytes]) -> PoolUpdated:
        promoted: list[PooledTransaction] = []
        dropped: list[TransactionDropped] = []
        for sender in senders:
            sender_txs = self._senders[sender]
            removed, executable = self._update_sender(sender_txs)
            for entry in removed:
                self._delete(entry)
                if entry.transaction.hash not in included:
                    dropped.append(
                        TransactionDropped(entry.transaction.hash, drop_reason(entry, sender_txs))
                    )
                elif sender_txs.is_account or entry.paymaster is not None:
                    self.penalties.paid(sender)
            for entry in self._discard_unpaid(executable):
                reason = PoolRejection(f"paymaster limit exceeded: {PAYMASTER_LIMIT} transactions")
                dropped.append(TransactionDropped(entry.transaction.hash, reason))
            promoted += [entry for entry in executable if entry.nonce < sender_txs.gap]
        for known in included & self._entries.keys():
            self._discard(self._entries[known])
        return PoolUpdated(hashes(promoted), tuple(dropped))


def _is_accounts_own(entry: PooledTransaction, accounts: State) -> bool:
    """Return whether an entry counts by the nonce of a contract account."""
    is_signed = not entry.transaction.is_impersonated
    return is_signed and is_contract_account(accounts, entry.sender)
