"""Include the best transactions of the pool in a block, in parts that may execute on another thread."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from entresol.errors import BlockFull, InvalidTransaction

if TYPE_CHECKING:
    from entresol.chain.mempool import Mempool
    from entresol.execution.block_executor import BlockExecutor
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Address

log = logging.getLogger(__name__)

SIZE_LIMIT_BYTES: Final = 8 * 1024 * 1024
"""The maximum size of a block's transactions: what EIP-7934 leaves for them.

Gas bounds all bytes except those of factory dependencies, which are stored but not executed.
"""
PART_TRANSACTIONS: Final = 128
"""How many transactions are taken from the pool at once: a fraction of a millisecond."""
MIN_TRANSACTION_GAS: Final = 21_000
"""What every transaction uses; with less left, a block is full."""


class PoolInclusion:
    """Fills a block with the best transactions of the pool, up to `limit` transactions in all.

    Remembers: how far it is in the pool, and what the last part could not include. Assumes: `take` on the thread that
    changes the pool, and nothing else on the block while `execute` runs, on any thread. Fails: as the executor does; a
    transaction that is invalid is dropped by the next `take`.
    """

    def __init__(self, executor: BlockExecutor, pool: Mempool, limit: int | None = None) -> None:
        self._executor = executor
        self._pool = pool
        self._limit = limit
        self._best = pool.best()
        self._part: list[Transaction] = []
        self._skipped: set[Address] = set()
        self._invalid: list[tuple[Transaction, InvalidTransaction]] = []

    def take(self) -> bool:
        """Take the next transactions from the pool; return whether there are any that may fit."""
        for transaction, error in self._invalid:
            log.info("dropped transaction %s: %s", transaction.hash, error)
            self._pool.remove(transaction.hash, str(error))
            self._pool.penalties.record(transaction, error)
        for sender in self._skipped:
            self._best.skip_sender(sender)
        self._invalid, self._skipped, self._part = [], set(), []
        if self._executor.gas_left < MIN_TRANSACTION_GAS:
            return False
        count = PART_TRANSACTIONS
        if self._limit is not None:
            count = min(count, self._limit - len(self._executor.transactions))
        while len(self._part) < count and (following := next(self._best, None)) is not None:
            self._part.append(following)
        return bool(self._part)

    def execute(self) -> None:
        """Execute what was taken last."""
        executor = self._executor
        size = sum(len(it.raw) for it in executor.transactions)
        for transaction in self._part:
            if transaction.sender in self._skipped:
                continue
            if size and size + len(transaction.raw) > SIZE_LIMIT_BYTES:
                self._skipped.add(transaction.sender)
                continue
            try:
                executor.run(transaction)
                size += len(transaction.raw)
            except BlockFull:
                # A smaller one of another sender may still fit.
                self._skipped.add(transaction.sender)
            except InvalidTransaction as error:
                self._skipped.add(transaction.sender)
                self._invalid.append((transaction, error))
