"""Where blocks are decided: what a sequencer does for those who send transactions and ask for blocks."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from entresol.chain.mempool.validation import check_raw
from entresol.errors import (
    InvalidTransaction,
    ProducerUnavailable,
    RemoteFailed,
    StoreFailed,
    SystemTransactionFailed,
)
from entresol.primitives.transactions import Transaction, decode
from entresol.state_missing import waiting

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from entresol.primitives.headers import Header
    from entresol.primitives.values import Hash32

    OnIncluded: TypeAlias = Callable[[Exception | None], None]
    """Called once a transaction is in a block, or only others can change whether it will be; with what prevented it."""
    from entresol.chain.chain import Chain


_T = TypeVar("_T")


class Sequencer(Protocol):
    """Decides what the next block of a chain is, and when it is sealed, by the mode of `chain.schedule`.

    The chain does not know its sequencer. Who sends transactions, reads deposits or seals on request is given it.
    """

    @property
    def accepts_known(self) -> bool:
        """Whether a transaction may be sent again that is pending or in a block, as after a lost response."""

    def wake(self) -> None:
        """Seal what is pending, now or in the background, if the mode is automine."""

    def include(self, transaction_hash: Hash32, on_included: OnIncluded) -> None:
        """Seal a transaction of the pool if the mode is automine, and report when its sender can have its response.

        Those of many senders may be sealed together.
        """

    def flush(self) -> None:
        """Seal at once what is to be included, instead of collecting more of it first."""

    async def seal(self) -> Header:
        """Seal the next block, even if it is empty."""


async def included(sequencer: Sequencer, transaction_hash: Hash32) -> None:
    """Wait until the sender of a transaction of the pool can have its response; raise what prevents its inclusion."""
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def report(error: Exception | None) -> None:
        if ended.done():
            return
        if error is None:
            ended.set_result(None)
        else:
            ended.set_exception(error)

    sequencer.include(transaction_hash, report)
    await ended


class SequencerElsewhere:
    """Rejects what only the sequencer can do: requests for that are forwarded before they come here.

    Remembers and persists: nothing. Fails: with `ProducerUnavailable`.
    """

    accepts_known = False

    def wake(self) -> None:
        """Reject."""
        raise _elsewhere()

    def include(self, transaction_hash: Hash32, on_included: OnIncluded) -> None:  # noqa: ARG002 - as in Sequencer
        """Report that another process decides."""
        on_included(_elsewhere())

    def flush(self) -> None:
        """Do nothing: nothing is to be included."""

    async def seal(self) -> Header:
        """Reject."""
        raise _elsewhere()


def _elsewhere() -> ProducerUnavailable:
    return ProducerUnavailable("is another node")


class InlineSequencer:
    """Seals blocks before the call returns that asks for them, as a library does."""

    accepts_known = False

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    def submit(self, raw: bytes) -> Hash32:
        """Add a raw transaction to the pool, and seal it if the mode is automine."""
        check_raw(raw, self._chain.pool.rules)
        return self.send(decode(raw))

    def send(self, transaction: Transaction) -> Hash32:
        """Add a transaction to the pool, and seal it if the mode is automine; raise why no block includes it."""
        self._patiently(partial(self._chain.add, transaction))
        if self._chain.schedule.is_automine:
            self._seal_for(transaction.hash)
        return transaction.hash

    def wake(self) -> None:
        """Seal what is pending, if the mode is automine."""
        if self._chain.schedule.is_automine:
            self._patiently(self._chain.builder.seal_pending)

    def include(self, transaction_hash: Hash32, on_included: OnIncluded) -> None:
        """Seal what is pending if the mode is automine, and report."""
        try:
            if self._chain.schedule.is_automine:
                self._seal_for(transaction_hash)
        except (InvalidTransaction, RemoteFailed, StoreFailed) as error:
            on_included(error)
        else:
            on_included(None)

    def flush(self) -> None:
        """Do nothing: nothing waits."""

    async def seal(self) -> Header:
        """Seal the next block, even if it is empty."""
        return self._patiently(self._chain.builder.seal)

    def _patiently(self, work: Callable[[], _T]) -> _T:
        """Do something with the chain; on a fork, wait for what it lacks."""
        return work() if self._chain.ledger.remote is None else waiting(work)()

    def _seal_for(self, transaction_hash: Hash32) -> None:
        try:
            self._patiently(self._chain.builder.seal_pending)
            self._check_cold(transaction_hash)
        except (StoreFailed, SystemTransactionFailed) as error:
            # The sender receives the error, so the transaction must not be sealed later.
            if self._chain.pool.remove(transaction_hash, str(error)) is not None:
                raise
        if (rejection := self._chain.rejections.of(transaction_hash)) is not None:
            raise rejection

    def _check_cold(self, transaction_hash: Hash32) -> None:
        """Raise why the remote of a fork has failed a transaction, which leaves the pool."""
        cold, pool = self._chain.filler.cold, self._chain.pool
        sent = pool.get(transaction_hash) if cold.senders else None
        if sent is None:
            return
        error = cold.senders.get(sent.sender)
        for sender in list(cold.senders):
            cold.discard(sender)
        if error is not None:
            pool.remove(transaction_hash, str(error))
            raise error
