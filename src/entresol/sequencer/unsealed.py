"""Transactions that were added to the pool and are in no block yet: which later ones depend on them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from entresol.chain.mempool.validation import check_transaction
from entresol.errors import InvalidTransaction, NonceTooLow

if TYPE_CHECKING:
    from entresol.chain.mempool import Mempool
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Hash32

MAX_UNSEALED: Final = 4_096
"""How many may be in the pool before their blocks are sealed: others in the pool are not evicted for them."""


class UnsealedTransactions:
    """The transactions whose blocks are being sealed. Remembers: their hashes."""

    def __init__(self, pool: Mempool) -> None:
        self._pool = pool
        self._hashes: set[Hash32] = set()
        self._sealed: asyncio.Event | None = None

    def __len__(self) -> int:
        return len(self._hashes)

    def add(self, transaction_hash: Hash32) -> None:
        """Add a transaction of the pool."""
        self._hashes.add(transaction_hash)

    def remove(self, transaction_hash: Hash32) -> None:
        """Remove a transaction that is in a block, or will be in none for now."""
        self._hashes.discard(transaction_hash)
        if not self._hashes and self._sealed is not None:
            self._sealed.set()
            self._sealed = None

    async def wait_sealed(self) -> None:
        """Wait until none is left."""
        if self._hashes:
            self._sealed = self._sealed or asyncio.Event()
            await self._sealed.wait()

    def precede(self, transaction: Transaction) -> bool:
        """Return whether they are sealed before a transaction is added: one has its nonce, or they are too many."""
        if not self._hashes:
            return False
        if len(self._hashes) > min(MAX_UNSEALED, self._pool.config.limit // 2):
            return True
        same = self._pool.find(transaction.sender, transaction.payload.nonce)
        return same is not None and same.hash in self._hashes

    def may_make_valid(self, transaction: Transaction, rejection: Exception) -> bool:
        """Return whether a rejected transaction may be valid once they are sealed."""
        if not self._hashes or isinstance(rejection, NonceTooLow):
            return False
        try:
            check_transaction(transaction, self._pool.rules)
        except InvalidTransaction:
            return False
        return True
