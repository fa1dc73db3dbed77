"""Transactions that a block has rejected: they leave the pool, and their senders are told why."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from entresol.primitives.bounded_map import BoundedMap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    from entresol.chain.mempool import Mempool
    from entresol.errors import InvalidTransaction
    from entresol.execution.rejected_work import RejectedTransaction
    from entresol.primitives.values import Hash32

    OnRejected: TypeAlias = Callable[[RejectedTransaction], None]

log = logging.getLogger(__name__)

_MAX_KNOWN: Final = 4_096


class Rejections:
    """Removes from the pool what a block has rejected.

    Remembers: why, for senders that wait for the block, and who wants to know. Persists: nothing. Assumes: the thread
    of the chain.
    """

    def __init__(self, pool: Mempool) -> None:
        self._pool = pool
        self._listeners: list[OnRejected] = []
        self._errors: BoundedMap[Hash32, InvalidTransaction] = BoundedMap(_MAX_KNOWN)

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
