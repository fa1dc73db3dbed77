"""Blocks that are sealed by the call that asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.chain.mempool.validation import check_raw
from entresol.errors import InvalidTransaction, StoreFailed
from entresol.primitives.transactions import Transaction, decode

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.primitives.headers import Header
    from entresol.primitives.values import Hash32
    from entresol.sequencer.sequencer import OnIncluded


class InlineSequencer:
    """Seals blocks before the call returns that asks for them, as a library does.

    Remembers and persists: nothing; the chain does. Assumes: the thread that changes the chain. Fails: as the chain does.
    """

    accepts_known = False

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    def submit(self, raw: bytes) -> Hash32:
        """Add a raw transaction to the pool, and seal it if the mode is automine."""
        check_raw(raw, self._chain.pool.rules)
        return self.send(decode(raw))

    def send(self, transaction: Transaction) -> Hash32:
        """Add a transaction to the pool, and seal it if the mode is automine; raise why no block includes it."""
        self._chain.add(transaction)
        if self._chain.schedule.is_automine:
            self._seal_for(transaction.hash)
        return transaction.hash

    def wake(self) -> None:
        """Seal what is pending, if the mode is automine."""
        if self._chain.schedule.is_automine:
            self._chain.builder.seal_pending()

    def include(self, transaction_hash: Hash32, on_included: OnIncluded) -> None:
        """Seal what is pending if the mode is automine, and report."""
        try:
            if self._chain.schedule.is_automine:
                self._seal_for(transaction_hash)
        except (InvalidTransaction, StoreFailed) as error:
            on_included(error)
        else:
            on_included(None)

    def flush(self) -> None:
        """Do nothing: nothing waits."""

    async def seal(self) -> Header:
        """Seal the next block, even if it is empty."""
        return self._chain.builder.seal()

    def _seal_for(self, transaction_hash: Hash32) -> None:
        try:
            self._chain.builder.seal_pending()
        except StoreFailed as error:
            # The sender receives the error, so the transaction must not be sealed later.
            if self._chain.pool.remove(transaction_hash, str(error)) is not None:
                raise
        if (rejection := self._chain.rejections.of(transaction_hash)) is not None:
            raise rejection
