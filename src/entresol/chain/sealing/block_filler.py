"""Build blocks: roots of L1 and priority transactions first, then the best of the mempool."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from entresol.chain.sealing.l1_queues import PriorityQueue, RootQueue, include_roots
from entresol.chain.sealing.pool_inclusion import ColdSenders, PoolInclusion
from entresol.errors import BlockFull, RemoteFailed, StateMissing
from entresol.execution.block_executor import BlockExecutor
from entresol.execution.limits import ByteRoom, ColdTransaction
from entresol.primitives.published.limits import gas_limit_with_room, roots_gas
from entresol.primitives.transactions import PriorityTransaction, SystemTransaction, Transaction
from entresol.primitives.transactions.priority import MAX_PRIORITY_TRANSACTIONS

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from entresol._native import Overlay, Snapshot
    from entresol.chain.clock import Clock, ClockState
    from entresol.chain.edits import BlockSettings, Edits
    from entresol.chain.ledger import Ledger
    from entresol.chain.mempool import Mempool
    from entresol.execution.block_executor import ExecutedBlock
    from entresol.execution.evm_env import BlockEnv
    from entresol.execution.limits import WorkBudget
    from entresol.primitives.records import StoredChange
    from entresol.primitives.values import Hash32


INLINE_GAS: Final = 3_000_000
"""Up to this gas limit of all pending transactions, a block is built at once: it takes a few milliseconds."""

INLINE_TRANSACTIONS: Final = 32
"""Up to so many, for the same reason."""


class BlockFiller:
    """Builds the next block on the ledger, and leaves the pool as it is.

    A transaction that cannot be executed is rejected, and does not block those behind it, but no block is built without
    the roots that are to be imported. After a restart the importer and the deposit watcher fill the queues again.
    """

    def __init__(self, ledger: Ledger, pool: Mempool) -> None:
        self._ledger = ledger
        self._pool = pool
        self._rules = ledger.rules.evm_rules()
        self._max_transactions = ledger.rules.max_transactions
        self.priority = PriorityQueue()
        self.roots = RootQueue()
        self.cold = ColdSenders()
        """Whom blocks of a fork leave out for now."""

    @property
    def has_work(self) -> bool:
        """Whether a block built now would include a transaction."""
        if self.roots or (self.priority and not self.cold.has_deposits):
            return True
        if not self._pool:
            return False
        best = self._pool.best()
        for sender in self.cold.senders:
            best.skip_sender(sender)
        return next(best, None) is not None

    @property
    def is_heavy(self) -> bool:
        """Whether the pending transactions take more than a few milliseconds to execute."""
        if not self.priority and not self._pool and not self.roots:
            return False
        return are_heavy(chain(self.priority, self._pool.best()), self.first_gas)

    @property
    def has_heavy_queues(self) -> bool:
        """Whether pending roots and priority transactions take more than a few milliseconds to execute."""
        return are_heavy(self.priority, self.first_gas)

    @property
    def first_gas(self) -> int:
        """The gas limit of the import of roots with which the next block begins."""
        return roots_gas(len(self.roots.first))

    def enqueue(self, payload: PriorityTransaction) -> Transaction:
        """Queue a priority transaction; what L1 has accepted is never rejected, but for what no block can hold."""
        payload.check_request()
        transaction = Transaction.from_l1(payload)
        self.priority.append(transaction)
        return transaction

    def open(
        self, timestamp: int, edits: Sequence[StoredChange] = (), codes: Sequence[bytes] = ()
    ) -> BlockExecutor:
        """Return the next block without transactions."""
        executor = self.create(timestamp)
        begin_block(executor, edits, codes)
        return executor

    def create(self, timestamp: int) -> BlockExecutor:
        """Return the next block, for `begin_block`."""
        ledger = self._ledger
        env = self._with_room(ledger.next_block_env(timestamp))
        executor = BlockExecutor(
            self._rules,
            ledger.latest,
            env,
            ledger.parent,
            limits=self._pool.config.validation,
            accepts_unsigned=ledger.rules.is_development,
        )
        if ledger.rules.publishes:
            executor.byte_room = ByteRoom()
        return executor

    def best_for(
        self, executor: BlockExecutor, limit: int | None = None, known: Container[Hash32] = ()
    ) -> PoolInclusion:
        """Return the best transactions of the mempool for an opened block, without those `known` to be invalid."""
        wanted = self._max_transactions if limit is None else limit
        return PoolInclusion(executor, self._pool, wanted, known, self.cold.senders)

    def first_priority(self) -> tuple[Transaction, ...]:
        """Return the priority transactions that the next block may include, and one more."""
        if self.cold.has_deposits:
            return ()
        return tuple(islice(self.priority, MAX_PRIORITY_TRANSACTIONS + 1))

    def has_all(self, transactions: Iterable[Transaction]) -> bool:
        """Return whether roots and priority transactions of these are still the first, and others still in the pool."""
        first = iter(self.priority)
        for transaction in transactions:
            if isinstance(transaction.payload, SystemTransaction):
                if not self.roots.begins_with(transaction.payload.roots):
                    return False
                continue
            if isinstance(transaction.payload, PriorityTransaction):
                pending = next(first, None)
                if pending is None or pending.hash != transaction.hash:
                    return False
            elif self._pool.get(transaction.hash) is None:
                return False
        return True

    def fill(
        self,
        timestamp: int,
        edits: Sequence[StoredChange] = (),
        codes: Sequence[bytes] = (),
        *,
        limit: int | None = None,
        known: Container[Hash32] = (),
        budget: WorkBudget | None = None,
    ) -> BlockExecutor:
        """Return the next block with at most `limit` transactions, without its roots; a spent budget raises and changes nothing."""
        executor = self.open(timestamp, edits, codes)
        executor.budget = budget
        include_roots(executor, self.roots, self.roots.first)
        if include_priority(executor, self.first_priority(), limit) and self._pool:
            best = self.best_for(executor, limit, known)
            while best.take():
                best.execute()
        return executor

    def on_sealed(self, executed: ExecutedBlock) -> None:
        """Remove the roots and the priority transactions of a sealed block from the queues."""
        for transaction in executed.transactions:
            if isinstance(transaction.payload, SystemTransaction):
                self.roots.remove(transaction.payload.roots)
                continue
            first = self.priority.first
            if first is None or transaction.hash != first.hash:
                return
            self.priority.pop_first()
            self.cold.problem = None

    def _with_room(self, env: BlockEnv) -> BlockEnv:
        """Return `env` with a gas limit that covers roots and the first priority transaction, if that is possible."""
        first = None if self.cold.has_deposits else self.priority.first
        payload = None if first is None else first.payload
        assert payload is None or isinstance(payload, PriorityTransaction)
        gas_limit = gas_limit_with_room(env.gas_limit, len(self.roots.first), payload)
        if gas_limit == env.gas_limit:
            return env
        return msgspec.structs.replace(env, gas_limit=gas_limit)


def begin_block(
    executor: BlockExecutor, edits: Sequence[StoredChange] = (), codes: Sequence[bytes] = ()
) -> None:
    """Begin a block with a developer's edits; any thread may call it."""
    if edits or codes:
        executor.edit(edits, codes)
    executor.begin()


def are_heavy(transactions: Iterable[Transaction], gas: int = 0) -> bool:
    """Return whether transactions, and others with so much gas, take longer than those that the event loop executes."""
    if gas > INLINE_GAS:
        return True
    for count, transaction in enumerate(transactions, start=1):
        gas += transaction.payload.gas_limit
        if gas > INLINE_GAS or count > INLINE_TRANSACTIONS:
            return True
    return False


def include_priority(
    executor: BlockExecutor, transactions: Iterable[Transaction], limit: int | None = None
) -> bool:
    """Execute priority transactions; return whether others may follow."""
    for transaction in transactions:
        if len(executor.transactions) >= MAX_PRIORITY_TRANSACTIONS:
            return False
        if limit is not None and len(executor.transactions) >= limit:
            return False
        try:
            executor.run(transaction)
        except BlockFull:
            return False
        except (StateMissing, RemoteFailed) as error:
            # It stays the first, and the block goes on without it.
            executor.cold += (ColdTransaction(transaction, error),)
            return True
    return True


class BuildState(NamedTuple):
    """The base that a block is built on; while it is equal, the block is still the next one."""

    parent: Hash32
    state: Snapshot | Overlay
    """The state with edits; each edit creates another object."""
    clock: ClockState
    settings: BlockSettings


class NextBlock:
    """The block after the head, before it has transactions."""

    def __init__(self, ledger: Ledger, clock: Clock, edits: Edits) -> None:
        self.ledger = ledger
        self.clock = clock
        self.edits = edits

    @property
    def latest(self) -> Snapshot | Overlay:
        """The state after the last block and the edits since then."""
        edited = self.edits.state
        return self.ledger.latest if edited is None else edited

    @property
    def build_state(self) -> BuildState:
        """All that it is built on, without what is pending."""
        ledger = self.ledger
        return BuildState(ledger.head_hash, self.latest, self.clock.state, ledger.settings)

    def timestamp(self) -> int:
        """Return its timestamp if it is sealed now."""
        return self.clock.next_timestamp(self.ledger.head.timestamp)

    def base_fee(self) -> int:
        """Return its base fee."""
        ledger = self.ledger
        chosen = ledger.settings.base_fee
        return ledger.rules.fees.next(ledger.head) if chosen is None else chosen

    def blob_base_fee(self) -> int:
        """Return its base fee per blob gas."""
        return self.ledger.blob_fees.next_base_fee(self.ledger.head)
