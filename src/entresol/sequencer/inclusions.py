"""Transactions of the pool that are to be sealed, and the responses that their senders get for it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from entresol.sequencer.sent_failures import SentFailures
from entresol.sequencer.unsealed import UnsealedTransactions

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Hash32
    from entresol.sequencer.send_response import SendResponse
    from entresol.sequencer.sequencer import Sequencer


class Inclusions:
    """Adds transactions to the pool, has them sealed together, and responds to their senders.

    Remembers: those that are in no block yet. Persists: nothing; the chain does. Fails: with the rejections of the pool.
    """

    def __init__(self, chain: Chain, sequencer: Sequencer, *, hardhat_errors: bool) -> None:
        self._chain = chain
        self._sequencer = sequencer
        self.unsealed = UnsealedTransactions(chain.pool)
        """Those that are in no block yet."""
        self._added: list[tuple[Hash32, SendResponse]] = []
        self._failures = SentFailures(chain) if hardhat_errors else None

    def add(self, transaction: Transaction, response: SendResponse) -> None:
        """Add a transaction that is validated to the pool."""
        sent = transaction.hash
        if not (self._sequencer.accepts_known and self._chain.is_known(sent)):
            self._chain.add(transaction, is_validated=True)
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
