"""Include the best transactions of the pool in a block, in parts that may execute on another thread."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

from entresol._native import TRANSACTION_GAS
from entresol.errors import (
    BlockFull,
    BlockFullOfMessages,
    InvalidTransaction,
    RemoteFailed,
    StateMissing,
)
from entresol.execution.account_senders import runs_in_steps
from entresol.execution.limits import ColdTransaction, RejectedTransaction, RejectedWork
from entresol.primitives.bounded_map import BoundedMap

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable
    from typing import TypeAlias

    from entresol.chain.mempool import Mempool
    from entresol.execution.block_executor import BlockExecutor
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Address, Hash32

    OnRejected: TypeAlias = Callable[[RejectedTransaction], None]


SIZE_LIMIT_BYTES: Final = 8 * 1024 * 1024
"""The maximum size of a block's transactions: what EIP-7934 leaves for them.

Gas bounds all bytes, except those of factory dependencies on a chain that does not charge for them.
"""
PART_TRANSACTIONS: Final = 128
"""How many transactions are taken from the pool at once: a fraction of a millisecond."""


log = logging.getLogger(__name__)

_MAX_REJECTIONS: Final = 4_096


class PoolInclusion:
    """Fills a block with the best transactions of the pool, up to `limit` transactions in all.

    What is invalid is left in the pool, and recorded in the block: sealing it drops it from there. What is
    executed in vain has a budget. Beyond it, what runs in steps and may be rejected waits for the next block, except
    that of senders who have paid before: nobody keeps them out for free. On a fork, what lacks a value of the remote is
    left out with its sender's later ones.

    Remembers: how far it is in the pool, and what the last part could not include. Assumes: `take` on the thread that
    changes the pool, and nothing else on the block while `execute` runs, on any thread. Fails: as the executor does.
    """

    def __init__(
        self,
        executor: BlockExecutor,
        pool: Mempool,
        limit: int | None = None,
        known: Container[Hash32] = (),
        cold: Iterable[Address] = (),
    ) -> None:
        """Fill `executor`; `known` are transactions that are invalid on its parent, `cold` senders are left out."""
        self._executor = executor
        self._pool = pool
        self._limit = limit
        self._known = known
        self._best = pool.best()
        for sender in cold:
            self._best.skip_sender(sender)
        self._part: list[Transaction] = []
        self._skipped: set[Address] = set()
        self._work = RejectedWork()
        self._is_closed = False

    def take(self) -> bool:
        """Take the next transactions from the pool; return whether there are any that may fit."""
        for sender in self._skipped:
            self._best.skip_sender(sender)
        self._skipped, self._part = set(), []
        if self._is_closed or self._executor.gas_left < TRANSACTION_GAS:
            return False
        count = PART_TRANSACTIONS
        if self._limit is not None:
            count = min(count, self._limit - len(self._executor.transactions))
        while len(self._part) < count and (following := next(self._best, None)) is not None:
            self._part.append(following)
        return bool(self._part)

    def execute(self) -> None:
        """Execute what was taken last."""
        size = sum(len(it.raw) for it in self._executor.transactions)
        for transaction in self._part:
            if self._is_closed:
                return
            if transaction.sender in self._skipped:
                continue
            is_too_long = size and size + len(transaction.raw) > SIZE_LIMIT_BYTES
            if is_too_long or not self._include(transaction):
                self._skipped.add(transaction.sender)
            else:
                size += len(transaction.raw)

    def _waits(self, transaction: Transaction) -> bool:
        """Return whether a transaction is left for the next block, because this one may reject it in vain."""
        if transaction.hash in self._known:
            return True
        if not self._work.is_spent or not runs_in_steps(transaction, self._executor.overlay):
            return False
        return not self._pool.penalties.has_paid(transaction.sender)

    def _include(self, transaction: Transaction) -> bool:
        """Execute a transaction; return whether the block includes it."""
        start = time.thread_time()
        try:
            if self._waits(transaction):
                return False
            self._executor.run(transaction)
        except BlockFullOfMessages:
            # It was executed; another one would be, too.
            self._work.add(transaction.payload.gas_limit, time.thread_time() - start)
            self._is_closed = self._work.is_spent
        except BlockFull:
            # A smaller one of another sender may still fit.
            pass
        except (StateMissing, RemoteFailed) as error:
            self._executor.cold += (ColdTransaction(transaction, error),)
        except InvalidTransaction as error:
            seconds = time.thread_time() - start
            rejected = RejectedTransaction(transaction, error, seconds)
            self._executor.rejected.append(rejected)
            if self._executor.budget is not None:
                self._executor.budget.spend_time(seconds)
            self._work.add_rejected(rejected)
        else:
            return True
        return False


class Rejections:
    """Removes from the pool what a block has rejected.

    Remembers: why, for senders that wait for the block, and who wants to know. Persists: nothing. Assumes: the thread
    of the chain.
    """

    def __init__(self, pool: Mempool) -> None:
        self._pool = pool
        self._listeners: list[OnRejected] = []
        self._errors: BoundedMap[Hash32, InvalidTransaction] = BoundedMap(_MAX_REJECTIONS)

    def listen(self, listener: OnRejected) -> None:
        """Call `listener` with each further transaction that is rejected."""
        self._listeners.append(listener)

    def apply(self, rejected: Iterable[RejectedTransaction]) -> None:
        """Remove what the next block has rejected, and count it for those who are to blame."""
        for it in rejected:
            transaction, error = it.transaction, it.error
            if self._pool.remove(transaction.hash, str(error)) is None:
                continue
            log.info("dropped transaction %s: %s", transaction.hash, error)
            self._pool.penalties.record(transaction, error)
            self._errors.put(transaction.hash, error)
            for listener in self._listeners:
                listener(it)

    def forget(self, transaction_hash: Hash32) -> None:
        """Forget a rejection, since the transaction is in the pool again."""
        self._errors.pop(transaction_hash)

    def of(self, transaction_hash: Hash32) -> InvalidTransaction | None:
        """Return why a block has rejected a transaction that is not in the pool again."""
        return self._errors.get(transaction_hash)
