"""The queues from L1 for the next blocks, in order: priority transactions, and roots to import."""

from __future__ import annotations

from collections import OrderedDict, deque
from itertools import islice
from typing import TYPE_CHECKING, Final

from entresol.errors import SystemTransactionFailed
from entresol.execution.block_rules import next_salt
from entresol.primitives.interop_roots import MAX_ROOTS_PER_IMPORT, InteropRoot
from entresol.primitives.transactions import SystemTransaction, Transaction

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from entresol.execution.block_executor import BlockExecutor


MAX_QUEUED_ROOTS: Final = 10_000
"""How many wait at most; the importer reads further ones once blocks have imported these."""


class PriorityQueue:
    """Priority transactions that wait for a block: a FIFO queue with lookup by hash, both in constant time."""

    def __init__(self) -> None:
        self._queued: OrderedDict[bytes, Transaction] = OrderedDict()

    def __len__(self) -> int:
        return len(self._queued)

    def __iter__(self) -> Iterator[Transaction]:
        return iter(self._queued.values())

    @property
    def first(self) -> Transaction | None:
        """The transaction to be included next."""
        return next(iter(self._queued.values()), None)

    @property
    def last(self) -> Transaction | None:
        """The transaction that was added last."""
        return next(reversed(self._queued.values()), None)

    def get(self, transaction_hash: bytes) -> Transaction | None:
        """Return the transaction with this hash."""
        return self._queued.get(transaction_hash)

    def append(self, transaction: Transaction) -> None:
        """Add a transaction at the end."""
        self._queued[transaction.hash] = transaction

    def pop_first(self) -> None:
        """Remove the first transaction."""
        self._queued.popitem(last=False)

    def push_front(self, transactions: Sequence[Transaction]) -> None:
        """Add transactions at the front, in their order."""
        for transaction in reversed(transactions):
            self._queued[transaction.hash] = transaction
            self._queued.move_to_end(transaction.hash, last=False)

    def replace(self, transactions: Sequence[Transaction]) -> None:
        """Replace the content of the queue."""
        if self._queued or transactions:
            self._queued = OrderedDict(
                (transaction.hash, transaction) for transaction in transactions
            )


class RootQueue:
    """Roots that are to be imported, oldest first; an import that fails stays, and after a restart the importer adds them."""

    def __init__(self) -> None:
        self._queued: deque[InteropRoot] = deque()
        self.failure: SystemTransactionFailed | None = None
        """Why no block can be sealed at present."""

    def __len__(self) -> int:
        return len(self._queued)

    @property
    def last(self) -> InteropRoot | None:
        """The root that was added last."""
        return self._queued[-1] if self._queued else None

    @property
    def first(self) -> tuple[InteropRoot, ...]:
        """The roots that the next block imports."""
        return tuple(islice(self._queued, MAX_ROOTS_PER_IMPORT)) if self._queued else ()

    def extend(self, roots: Iterable[InteropRoot]) -> int:
        """Add roots at the end, as many as there is room for; return how many."""
        before = len(self._queued)
        self._queued.extend(islice(roots, MAX_QUEUED_ROOTS - before))
        return len(self._queued) - before

    def replace(self, roots: Iterable[InteropRoot] = ()) -> int:
        """Replace the content of the queue by roots, as many as there is room for; return how many."""
        self._queued.clear()
        self.failure = None
        return self.extend(roots)

    def begins_with(self, roots: Sequence[InteropRoot]) -> bool:
        """Return whether these are the first ones."""
        return list(islice(self._queued, len(roots))) == list(roots)

    def remove(self, roots: Sequence[InteropRoot]) -> None:
        """Remove the first roots, which a block has imported."""
        if self.begins_with(roots):
            for _ in roots:
                self._queued.popleft()
        self.failure = None


def include_roots(executor: BlockExecutor, queue: RootQueue, roots: Sequence[InteropRoot]) -> None:
    """Import the first roots by the first transaction of a block, on any thread; a failure is raised and remembered."""
    if not roots:
        return
    payload = SystemTransaction.root_import(roots, next_salt(executor.overlay))
    try:
        executor.run(Transaction.of_system(payload))
    except SystemTransactionFailed as error:
        queue.failure = error
        raise
