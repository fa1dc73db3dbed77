"""Making blocks out of what waits: priority transactions first, then the best of the pool."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from entresol.chain.priority_queue import PriorityQueue
from entresol.errors import BlockFull, InvalidTransaction
from entresol.execution.block_executor import BlockExecutor
from entresol.primitives.transactions import Transaction
from entresol.primitives.transactions.priority import MOST_REQUESTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol.chain.ledger import Ledger
    from entresol.chain.mempool import Mempool
    from entresol.execution.block_executor import ExecutedBlock
    from entresol.primitives.records import StoredChange
    from entresol.primitives.transactions import PriorityTransaction

log = logging.getLogger(__name__)

SIZE_LIMIT_BYTES: Final = 8 * 1024 * 1024
"""The bytes of transactions in a block at which the pool has to wait: what EIP-7934 leaves for them.

Gas bounds all bytes but those of factory dependencies, which are stored and run nothing.
"""


class BlockProducer:
    """Builds the next block on the ledger.

    Remembers: the priority transactions that no block has yet, in the order they came. Persists:
    nothing; whoever hands them over knows which ones a restart has to hand over again. Assumes: one
    thread. Fails: as the ledger does; a transaction that cannot be executed is dropped and never
    keeps out those behind it.
    """

    def __init__(self, ledger: Ledger, pool: Mempool) -> None:
        self._ledger = ledger
        self._pool = pool
        self._rules = ledger.rules.evm_rules()
        self.priority = PriorityQueue()

    @property
    def has_work(self) -> bool:
        """Whether a block made now would have a transaction."""
        return bool(self.priority) or next(self._pool.best(), None) is not None

    def enqueue(self, payload: PriorityTransaction) -> Transaction:
        """Take a transaction that another layer has accepted; nothing can reject it any more."""
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
        """Execute the next block, with `limit` transactions at most, without sealing it."""
        executor = self.fill(timestamp, edits, codes, limit=limit)
        return executor.finish(self._ledger.trie)

    def fill(
        self,
        timestamp: int,
        edits: Iterable[StoredChange] = (),
        codes: Iterable[bytes] = (),
        *,
        limit: int | None = None,
    ) -> BlockExecutor:
        """Return the next block with its transactions run, but no roots yet."""
        ledger = self._ledger
        executor = BlockExecutor(
            self._rules, ledger.latest, ledger.next_block_env(timestamp), ledger.parent
        )
        executor.edit(edits, codes)
        if self._take_priority(executor, limit):
            self._take_best(executor, limit)
        return executor

    def on_sealed(self, executed: ExecutedBlock) -> None:
        """Forget the priority transactions that are in a sealed block."""
        for transaction in executed.transactions:
            first = self.priority.first
            if first is None or transaction.hash != first.hash:
                return
            self.priority.pop_first()

    def _take_priority(self, executor: BlockExecutor, limit: int | None) -> bool:
        """Run the priority transactions, and say whether there is room for others behind them."""
        for transaction in self.priority:
            if len(executor.transactions) >= MOST_REQUESTS:
                return False
            if limit is not None and len(executor.transactions) >= limit:
                return False
            try:
                executor.run(transaction)
            except BlockFull:
                return False
        return True

    def _take_best(self, executor: BlockExecutor, limit: int | None) -> None:
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
                # A smaller one of somebody else's may still fit.
                best.skip_sender(transaction.sender)
            except InvalidTransaction as error:
                log.info("dropped transaction %s: %s", transaction.hash, error)
                best.skip_sender(transaction.sender)
                self._pool.remove(transaction.hash, str(error))
