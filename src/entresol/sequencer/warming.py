"""Fetch what transactions read that blocks of a fork leave out, so that one on a slow remote holds up nobody."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.background_task import cancel
from entresol.errors import BlockFull, ChainReplaced, InvalidTransaction, RemoteTimeout
from entresol.execution.block_executor import BlockExecutor
from entresol.execution.limits import ColdTransaction
from entresol.primitives.bounded_map import BoundedMap
from entresol.state_missing import waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from entresol.chain.chain import Chain
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Address, Hash32

logger = logging.getLogger(__name__)

WARMING_THREADS: Final = 16
"""How many senders are warmed at a time: apart from calls of clients, which may have all threads of the fork."""

WARMED_TRANSACTIONS: Final = 16
"""How many transactions of a sender are executed at once to find out what they read."""

MAX_ATTEMPTS: Final = 32
"""How often a transaction is warmed that reads something else each time."""

REST_SECONDS: Final = 5.0
"""After which time what has failed is tried again, if nobody waits for it: a deposit, or what the timer seals."""

_MAX_SENDERS: Final = 4_096


class _Attempts(NamedTuple):
    """How often a transaction was warmed, and since when."""

    first: Hash32
    begun: float
    tries: int = 0


class Warming:
    """Executes what is cold on threads that wait for the remote, and throws the results away.

    Then blocks include it again, and find in memory what it reads. What fails is reported to `on_failed`, which returns
    whether it is out of the pool; else it rests for some time. `on_warm` is called when a block may include more.

    Remembers: who is being warmed. Assumes: the event loop that changes the chain, which is a fork. Fails: towards the
    sender; a deposit is tried again, and `ColdSenders.problem` says why.
    """

    def __init__(
        self,
        chain: Chain,
        on_warm: Callable[[], None],
        on_failed: Callable[[Transaction, Exception], bool],
    ) -> None:
        self._chain = chain
        self._cold = chain.filler.cold
        self._on_warm = on_warm
        self._on_failed = on_failed
        self._threads = ThreadPoolExecutor(WARMING_THREADS, thread_name_prefix="warm")
        self._tasks: dict[Address | None, asyncio.Task[None]] = {}
        self._busy: set[asyncio.Future[None]] = set()
        self._attempts: BoundedMap[Address, _Attempts] = BoundedMap(_MAX_SENDERS)
        self._cold.found.add(self._start)

    async def settled(self) -> None:
        """Wait until all that is cold now was warmed, or has failed."""
        if self._busy:
            await asyncio.wait(list(self._busy))

    async def stop(self) -> None:
        """Stop; threads that still wait end with the remote."""
        for task in list(self._tasks.values()):
            await cancel(task)
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _start(self) -> None:
        """Warm who is cold and not being warmed."""
        loop = asyncio.get_running_loop()
        for sender in self._cold.senders:
            if sender not in self._tasks:
                ended = self._begin()
                self._tasks[sender] = loop.create_task(self._warm_sender(sender, ended))
        if self._cold.has_deposits and None not in self._tasks:
            self._tasks[None] = loop.create_task(self._warm_deposits(self._begin()))

    def _begin(self) -> asyncio.Future[None]:
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._busy.add(ended)
        ended.add_done_callback(self._busy.discard)
        return ended

    async def _warm_sender(self, sender: Address, ended: asyncio.Future[None]) -> None:
        try:
            pending = self._chain.pool.pending(sender).get(sender, {})
            first = list(islice(pending.values(), WARMED_TRANSACTIONS))
            failed = self._exhausted(sender, first) or await self._warm(first)
            is_out = failed is None or self._on_failed(failed.transaction, failed.error)
            if failed is not None and not is_out:
                text = "transaction %s is in no block for now: %s"
                logger.warning(text, failed.transaction.hash, failed.error)
                _end(ended)
                await asyncio.sleep(REST_SECONDS)
        finally:
            del self._tasks[sender]
            self._cold.discard(sender)
            _end(ended)
        self._on_warm()

    async def _warm_deposits(self, ended: asyncio.Future[None]) -> None:
        try:
            failed = await self._warm(self._first_deposits())
            if failed is not None:
                if self._cold.problem is None:
                    logger.error("deposit %s waits: %s", failed.transaction.hash, failed.error)
                self._cold.problem = f"deposit {failed.transaction.hash} waits: {failed.error}"
                _end(ended)
                await asyncio.sleep(REST_SECONDS)
        finally:
            del self._tasks[None]
            self._cold.discard_deposits()
            _end(ended)
        self._on_warm()

    def _first_deposits(self) -> list[Transaction]:
        return list(islice(self._chain.filler.priority, WARMED_TRANSACTIONS))

    def _exhausted(
        self, sender: Address, transactions: Sequence[Transaction]
    ) -> ColdTransaction | None:
        """Return the first transaction of a sender as failed, if it was warmed too often."""
        if not transactions:
            return None
        first = transactions[0]
        known = self._attempts.get(sender)
        if known is None or known.first != first.hash:
            known = _Attempts(first.hash, monotonic())
        known = known._replace(tries=known.tries + 1)
        self._attempts.put(sender, known)
        problem = self._too_much(known)
        if problem is None:
            return None
        self._attempts.pop(sender)
        return ColdTransaction(first, RemoteTimeout(problem))

    def _too_much(self, attempts: _Attempts) -> str | None:
        """Say why a transaction is not warmed once more."""
        if attempts.tries > MAX_ATTEMPTS:
            return f"the transaction read something else of the remote {MAX_ATTEMPTS} times"
        remote = self._chain.ledger.remote
        if remote is None or monotonic() - attempts.begun <= remote.total:
            return None
        return (
            f"the remote {remote.host} did not respond to all that the transaction reads in {remote.total:g} seconds; "
            "see --fork-timeout"
        )

    async def _warm(self, transactions: Sequence[Transaction]) -> ColdTransaction | None:
        """Execute transactions on the latest state, in order; return the one that has failed for the remote."""
        if not transactions:
            return None
        chain, ledger = self._chain, self._chain.ledger
        env = ledger.next_block_env(chain.next_block.timestamp())
        executor = BlockExecutor(
            chain.rules.evm_rules(),
            chain.latest,
            env,
            ledger.parent,
            limits=chain.pool.config.validation,
        )
        work = chain.use.guarded(partial(_execute, executor, transactions))
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, waiting(work))
        except ChainReplaced:
            # Whatever is pending now is tried again.
            return None


def _execute(
    executor: BlockExecutor, transactions: Sequence[Transaction]
) -> ColdTransaction | None:
    for transaction in transactions:
        try:
            executor.run(transaction)
        except (InvalidTransaction, BlockFull):
            # The block says so.
            return None
        except Exception as error:  # noqa: BLE001  # it is the sender's
            return ColdTransaction(transaction, error)
    return None


def _end(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_result(None)
