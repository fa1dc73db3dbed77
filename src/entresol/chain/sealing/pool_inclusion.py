"""Include the best transactions of the pool in a block, in parts that may execute on another thread, without senders that are cold."""

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
from entresol.listeners import Listeners
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.transactions import PriorityTransaction

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping
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
    left out with its sender's later ones. `take` runs on the thread that changes the pool, `execute` on any.
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
        size = sum(len(transaction.raw) for transaction in self._executor.transactions)
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
    """Removes from the pool what a block has rejected, and remembers why for those who wait for the block."""

    def __init__(self, pool: Mempool) -> None:
        self._pool = pool
        self._listeners: list[OnRejected] = []
        self._errors: BoundedMap[Hash32, InvalidTransaction] = BoundedMap(_MAX_REJECTIONS)

    def listen(self, listener: OnRejected) -> None:
        """Call `listener` with each further transaction that is rejected."""
        self._listeners.append(listener)

    def apply(self, rejected: Iterable[RejectedTransaction]) -> None:
        """Remove what the next block has rejected, and count it for those who are to blame."""
        for rejection in rejected:
            transaction, error = rejection.transaction, rejection.error
            if self._pool.remove(transaction.hash, str(error)) is None:
                continue
            log.info("dropped transaction %s: %s", transaction.hash, error)
            self._pool.penalties.record(transaction, error)
            self._errors.put(transaction.hash, error)
            for listener in self._listeners:
                listener(rejection)

    def forget(self, transaction_hash: Hash32) -> None:
        """Forget a rejection, since the transaction is in the pool again."""
        self._errors.pop(transaction_hash)

    def of(self, transaction_hash: Hash32) -> InvalidTransaction | None:
        """Return why a block has rejected a transaction that is not in the pool again."""
        return self._errors.get(transaction_hash)


class ColdFound(Exception):  # noqa: N818  # no error
    """Raised in place of sealing a block that would leave somebody out."""


class ColdSenders:
    """Senders and deposits that blocks of a fork leave out until what they read is here, so that they hold up no others."""

    def __init__(self) -> None:
        self._senders: dict[Address, Exception] = {}
        self.version = 0
        """Changes whenever a block may leave out others."""
        self.has_deposits = False
        """Whether the first deposit is left out, and so are all others."""
        self.problem: str | None = None
        """Why the first deposit cannot be executed; None once it was."""
        self.found: Listeners[[]] = Listeners()
        """Notified when somebody is left out who was not before."""

    def __len__(self) -> int:
        return len(self._senders) + self.has_deposits

    @property
    def senders(self) -> Mapping[Address, Exception]:
        """The senders whose transactions of the pool are left out, as they are at any time, and why."""
        return self._senders

    def add(self, cold: Iterable[ColdTransaction]) -> None:
        """Leave out those whose transactions were cold in a block."""
        before = len(self)
        for transaction, error in cold:
            if isinstance(transaction.payload, PriorityTransaction):
                self.has_deposits = True
            else:
                self._senders[transaction.sender] = error
        if len(self) > before:
            self.version += 1
            self.found.notify()

    def discard(self, sender: Address) -> None:
        """Include the transactions of a sender again."""
        self._senders.pop(sender, None)
        self.version += 1

    def discard_deposits(self) -> None:
        """Include deposits again."""
        self.has_deposits = False
        self.version += 1
