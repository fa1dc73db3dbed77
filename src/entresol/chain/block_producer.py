"""Build blocks: priority transactions first, then the best of the mempool."""

from __future__ import annotations

import logging
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.chain.priority_queue import PriorityQueue
from entresol.errors import BlockFull, InvalidTransaction
from entresol.execution.block_executor import BlockExecutor
from entresol.execution.tx_env import MAX_GAS_LIMIT
from entresol.primitives.transactions import Transaction
from entresol.primitives.transactions.priority import MAX_PRIORITY_TRANSACTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from entresol.chain.ledger import Ledger
    from entresol.chain.mempool import Mempool
    from entresol.execution.block_executor import ExecutedBlock
    from entresol.execution.evm_env import BlockEnv
    from entresol.primitives.records import StoredChange
    from entresol.primitives.transactions import PriorityTransaction

log = logging.getLogger(__name__)

SIZE_LIMIT_BYTES: Final = 8 * 1024 * 1024
"""The maximum size of a block's transactions: what EIP-7934 leaves for them.

Gas bounds all bytes except those of factory dependencies, which are stored but not executed.
"""


class BlockProducer:
    """Builds the next block on the ledger.

    Remembers: the queue of priority transactions. Persists: nothing; after a restart the deposit watcher
    enqueues again what no block includes. Assumes: one thread. Fails: as the ledger does; a transaction
    that cannot be executed is dropped, and does not block those behind it.
    """

    def __init__(self, ledger: Ledger, pool: Mempool) -> None:
        self._ledger = ledger
        self._pool = pool
        self._rules = ledger.rules.evm_rules()
        self.priority = PriorityQueue()

    @property
    def has_work(self) -> bool:
        """Whether a block built now would include a transaction."""
        return bool(self.priority) or next(self._pool.best(), None) is not None

    def enqueue(self, payload: PriorityTransaction) -> Transaction:
        """Queue a priority transaction; L1 has accepted it, so it is never rejected."""
        transaction = Transaction.from_l1(payload)
        self.priority.append(transaction)
        return transaction

    def build(
        self,
        timestamp: int,
        edits: Iterable[StoredChange] = (),
        codes: Iterable[bytes] = (),
        *,
        limit: int | None = None,
    ) -> ExecutedBlock:
        """Execute the next block, with at most `limit` transactions, without sealing it."""
        executor = self.fill(timestamp, edits, codes, limit=limit)
        return executor.finish(self._ledger.trie)

    def open(
        self, timestamp: int, edits: Iterable[StoredChange] = (), codes: Iterable[bytes] = ()
    ) -> BlockExecutor:
        """Return the next block without transactions."""
        ledger = self._ledger
        env = self._with_room(ledger.next_block_env(timestamp))
        executor = BlockExecutor(self._rules, ledger.latest, env, ledger.parent)
        executor.edit(edits, codes)
        return executor

    def complete(self, executor: BlockExecutor, *, is_full: bool) -> ExecutedBlock:
        """Finish a block whose priority transactions are executed, with those of the mempool if it is not full."""
        if not is_full:
            self._include_best(executor, None)
        return executor.finish(self._ledger.trie)

    def first_priority(self) -> tuple[Transaction, ...]:
        """Return the priority transactions that the next block may include, and one more."""
        return tuple(islice(self.priority, MAX_PRIORITY_TRANSACTIONS + 1))

    def starts_with(self, transactions: Sequence[Transaction]) -> bool:
        """Return whether these are still the first priority transactions."""
        pending = islice(self.priority, len(transactions))
        return [it.hash for it in pending] == [it.hash for it in transactions]

    def fill(
        self,
        timestamp: int,
        edits: Iterable[StoredChange] = (),
        codes: Iterable[bytes] = (),
        *,
        limit: int | None = None,
    ) -> BlockExecutor:
        """Return the next block with its transactions executed, but no roots yet."""
        executor = self.open(timestamp, edits, codes)
        if include_priority(executor, self.first_priority(), limit):
            self._include_best(executor, limit)
        return executor

    def on_sealed(self, executed: ExecutedBlock) -> None:
        """Remove the priority transactions of a sealed block from the queue."""
        for transaction in executed.transactions:
            first = self.priority.first
            if first is None or transaction.hash != first.hash:
                return
            self.priority.pop_first()

    def _with_room(self, env: BlockEnv) -> BlockEnv:
        """Return `env` with a gas limit that covers the first priority transaction.

        L1 accepts the overhead of a request on top of the gas of a block, and may have accepted more before.
        """
        first = self.priority.first
        if first is None or first.payload.gas_limit <= env.gas_limit:
            return env
        return msgspec.structs.replace(env, gas_limit=min(first.payload.gas_limit, MAX_GAS_LIMIT))

    def _include_best(self, executor: BlockExecutor, limit: int | None) -> None:
        best = self._pool.best()
        size = sum(len(it.raw) for it in executor.transactions)
        for transaction in best:
            if limit is not None and len(executor.transactions) >= limit:
                return
            if size and size + len(transaction.raw) > SIZE_LIMIT_BYTES:
                best.skip_sender(transaction.sender)
                continue
            try:
                executor.run(transaction)
                size += len(transaction.raw)
            except BlockFull:
                # A smaller one of another sender may still fit.
                best.skip_sender(transaction.sender)
            except InvalidTransaction as error:
                log.info("dropped transaction %s: %s", transaction.hash, error)
                best.skip_sender(transaction.sender)
                self._pool.remove(transaction.hash, str(error))


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
    return True
