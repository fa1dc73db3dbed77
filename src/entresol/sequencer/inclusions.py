"""Transactions of the pool that are to be sealed, and the responses that their senders get for it."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from entresol.chain.events import BLOCK_EVENTS, BlockSealed
from entresol.chain.mempool.validation import check_transaction
from entresol.errors import ExecutionReverted, InvalidTransaction, NonceTooLow, TransactionFailed
from entresol.execution.reverts import hardhat_text
from entresol.primitives.bounded_map import BoundedMap

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from entresol.chain.chain import Chain
    from entresol.chain.events import Event
    from entresol.chain.mempool import Mempool
    from entresol.errors import ExecutionFailed
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Address, Hash32
    from entresol.sequencer.sequencer import Sequencer


MAX_FAILED_BLOCKS: Final = 64
"""Blocks whose failures are remembered, until senders have their responses."""


MAX_UNSEALED: Final = 4_096
"""How many may be in the pool before their blocks are sealed: others in the pool are not evicted for them."""


class SentFailures:
    """Why transactions of recent blocks failed."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._failures: BoundedMap[Hash32, Mapping[int, ExecutionFailed]] = BoundedMap(
            MAX_FAILED_BLOCKS
        )
        chain.events.listen(self._on_event, *BLOCK_EVENTS)

    def error_of(self, sent: Hash32) -> TransactionFailed | None:
        """Return the error for the sender of a transaction that failed in its block; None for any other."""
        location = self._chain.blocks.locate_transaction(sent)
        if location is None:
            return None
        block_hash = self._chain.blocks.block_hash(location.block_number)
        failures = None if block_hash is None else self._failures.get(block_hash)
        failure = None if failures is None else failures.get(location.transaction_index)
        if failure is None:
            return None
        data = failure.data if isinstance(failure, ExecutionReverted) else b""
        return TransactionFailed(hardhat_text(failure), sent, data)

    def _on_event(self, event: Event) -> None:
        if not isinstance(event, BlockSealed):
            self._failures.clear()
        elif event.failures:
            self._failures.put(event.hash, event.failures)


class SendResponse:
    """The hash of a transaction, or the error that its sender gets."""

    __slots__ = ("future", "reports_failure")

    def __init__(self, *, reports_failure: bool) -> None:
        """`reports_failure` says that a transaction which fails in its block is an error for its sender, if ever."""
        self.future: asyncio.Future[Hash32] = asyncio.get_running_loop().create_future()
        self.reports_failure = reports_failure

    def succeed(self, sent: Hash32) -> None:
        """Respond with the hash of the transaction."""
        # A client that has gone has cancelled it.
        if not self.future.done():
            self.future.set_result(sent)

    def fail(self, error: Exception) -> None:
        """Respond with an error."""
        if not self.future.done():
            self.future.set_exception(error)


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

    def remove_of(self, senders: Container[Address]) -> None:
        """Remove the transactions of some senders."""
        for transaction_hash in list(self._hashes):
            transaction = self._pool.get(transaction_hash)
            if transaction is not None and transaction.sender in senders:
                self.remove(transaction_hash)

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


class Inclusions:
    """Adds transactions to the pool, has them sealed together, and responds to their senders."""

    def __init__(self, chain: Chain, sequencer: Sequencer, *, hardhat_errors: bool) -> None:
        self._chain = chain
        self._sequencer = sequencer
        self.unsealed = UnsealedTransactions(chain.pool)
        """Transactions that are in no block yet."""
        self._added: list[tuple[Hash32, SendResponse]] = []
        self._cold = chain.filler.cold.senders
        chain.filler.cold.found.add(self._on_cold)
        self._failures = SentFailures(chain) if hardhat_errors else None

    def add(self, transaction: Transaction, response: SendResponse) -> None:
        """Add a transaction that is validated to the pool."""
        sent = transaction.hash
        if not (self._sequencer.accepts_known and self._chain.is_known(sent)):
            self._chain.add(transaction, is_validated=True)
        if transaction.sender not in self._cold:
            self.unsealed.add(sent)
        self._added.append((sent, response))

    def include(self) -> None:
        """Have what was added sealed, all of it together, with what others add in this turn of the event loop."""
        added, self._added = self._added, []
        for sent, response in added:
            self._sequencer.include(sent, partial(self._on_included, sent, response))

    async def all_sealed(self) -> None:
        """Wait until everything that was added is in a block, or will be in none for now."""
        self.include()
        await self.unsealed.wait_sealed()

    def _on_cold(self) -> None:
        """Let nobody wait for those that a fork's blocks leave out: a remote may take long."""
        self.unsealed.remove_of(self._cold)

    def _on_included(self, sent: Hash32, response: SendResponse, error: Exception | None) -> None:
        self.unsealed.remove(sent)
        if error is not None:
            response.fail(error)
        elif self._failures is not None and response.reports_failure:
            # Not every subscriber has seen the event of the block yet.
            response.future.get_loop().call_soon(
                self._report_failure, self._failures, sent, response
            )
        else:
            response.succeed(sent)

    def _report_failure(self, failures: SentFailures, sent: Hash32, response: SendResponse) -> None:
        error = failures.error_of(sent)
        if error is None:
            response.succeed(sent)
        else:
            response.fail(error)
