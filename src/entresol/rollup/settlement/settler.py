"""Settle sealed batches on L1: commit, prove, execute, and book what they send to other chains."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import msgspec

from entresol.chain.journal import StoreJournal
from entresol.errors import (
    ChainReplaced,
    EntresolError,
    LayerOneFailed,
    LayerOneMismatch,
    LayerOneUnreachable,
)
from entresol.l1.layer_one import L1Finality
from entresol.primitives.batches import SettlementStep, SettlementTransaction
from entresol.rollup.settlement.bookkeeper import Bookkeeper, BooksContract
from entresol.rollup.settlement.l1_sync import L1Sync
from entresol.rollup.settlement.pending_tx import (
    PendingSettlement,
    PendingSettlements,
    SettlementOperation,
)
from entresol.rollup.settlement.step_sender import (
    SettlementPlan,
    SettlementStop,
    StepSender,
    StepTransactions,
)
from entresol.rollup.step_loop import Backoff, StepLoop, Stepping

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from entresol.chain.chain import Chain
    from entresol.chain.journal import Journal
    from entresol.l1.contracts import BatchTotals, ZkChain
    from entresol.l1.operator import Operator
    from entresol.primitives.values import Address, Hash32

log = logging.getLogger(__name__)


class SettlementConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Limits and intervals of the settlement."""

    confirmations: int = 0
    """How many L1 blocks must follow one before its settlement transactions make blocks safe or final."""
    finality: L1Finality = "latest"
    """The last L1 block, from which confirmations are counted."""
    max_batches: int = 16
    """How many batches one transaction proves or executes."""
    replace_seconds: float = 30.0
    """How long a transaction may be pending before one with a higher fee replaces it."""
    resend_seconds: float = 1.0
    """How long until a pending transaction is sent again: a reorg of L1 may have dropped it."""
    retry_seconds: float = 10.0
    """How long until an operation that stopped settlement is tried again; longer each time it reverts on L1."""
    max_retry_seconds: float = 1_800.0
    poll_seconds: float = 0.5
    is_on_request: bool = False
    """Whether `run` sends nothing and only follows L1: what others settle there, and what a reorg removes."""
    follow_seconds: float = 2.0


class Settler(Stepping):
    """Commits, proves and executes sealed batches on L1.

    Persists: the pending transaction of each key and the transaction of each step. The next operation follows from
    L1's totals, so a crash, a reorg of L1 or a revert of the chain neither repeats nor skips one. Fails: an operation
    that reverts, or would, stops it (`stopped`) until a step is settled by hand, or L1 says that it would not revert any more,
    for which it is asked now and then; an L1 that is unreachable or differs is retried (`problem`), as is a key that
    cannot pay, while the others go on. The chain goes on either way.
    """

    def __init__(  # noqa: PLR0913 - independent parts
        self,
        chain: Chain,
        contract: ZkChain,
        operators: Mapping[Operator, Sequence[SettlementStep]],
        timelock: Address,
        config: SettlementConfig | None = None,
        *,
        message_root: Address,
        contradicted_block: Callable[[], int | None] = lambda: None,
        may_begin: Callable[[], bool] = lambda: True,
        journal: Journal | None = None,
    ) -> None:
        self._config = config = config or SettlementConfig()
        self._batches = chain.batches
        self._use = chain.use
        self._l1 = contract.l1
        self._contract = contract
        journal = journal or StoreJournal(chain.batches, chain.set_finality)
        self._l1_sync = L1Sync(
            chain, contract, config.confirmations, config.finality, journal=journal
        )
        self._plan = SettlementPlan(
            *(chain.rules.chain_id, chain.blocks, contract.address),
            *(self._l1_sync, config.max_batches),
            contradicted_block=contradicted_block,
            may_begin=may_begin,
        )
        self._journal = PendingSettlements(chain.batches, journal)
        self._stop = SettlementStop(
            chain.batches, self._l1_sync, Backoff(config.retry_seconds, config.max_retry_seconds)
        )
        self._senders = [
            StepSender(
                self._transactions(operator, steps, timelock),
                *(self._plan, self._l1_sync, contract, self._stop),
            )
            for operator, steps in operators.items()
        ]
        self._steps = StepLoop(
            self._poll,
            log,
            failing="cannot follow L1" if config.is_on_request else "cannot settle batches",
            backoff=Backoff(2 * config.poll_seconds),
            wait=self._wait,
        )
        self.books = Bookkeeper(
            chain,
            BooksContract(self._l1, message_root, chain.rules.chain_id),
            self._l1_sync,
            self._sender(SettlementStep.EXECUTE).transactions,
            journal=journal,
            backoff=Backoff(config.retry_seconds, config.max_retry_seconds),
        )
        self._is_turn_of_books = True
        # `settle` must not sign a transaction while `run` does.
        self._lock = asyncio.Lock()

    @property
    def problem(self) -> str | None:
        """Why batches cannot be settled at the moment."""
        found = [sender.problem for sender in self._senders]
        return (
            self._steps.problem
            or "; ".join(problem for problem in found if problem is not None)
            or None
        )

    @property
    def stopped(self) -> str | None:
        """Why settlement stopped."""
        return self._stop.reason

    def pending(self, step: SettlementStep) -> PendingSettlement | None:
        """Return the pending transaction of a step, with every attempt."""
        return self._journal.pending(step)

    def is_fee_limited(self, step: SettlementStep) -> bool:
        """Return whether the pending transaction of a step is stuck, and a limit forbids a higher fee."""
        pending = self._sender(step).transactions.pending
        is_pending = pending is not None and pending.step is step
        return is_pending and self._sender(step).transactions.is_fee_limited

    @property
    def totals(self) -> BatchTotals:
        """L1's totals when they were last read."""
        return self._l1_sync.totals

    def wake(self) -> None:
        """Check for work at once: there is a new batch."""
        self._steps.wake()

    async def step(self, now: float) -> bool:
        """Send or follow one transaction of each key, and return whether there may be more to do at once.

        Raises if all keys fail, and if L1 is unreachable. What some fail with is their `problem`.
        """
        async with self._exclusively():
            self._stop.now = now
            await self._l1_sync.refresh()
            more = False
            for sender in self._senders:
                await sender.transactions.follow_call()
                if not await self._advance_books(sender, now):
                    more |= await self._advance(sender, self._l1_sync.totals, now)
                else:
                    more = True
            failures = [sender.failure for sender in self._senders if sender.failure is not None]
            if len(failures) == len(self._senders):
                raise failures[0]
            return more

    async def settle(
        self, step: SettlementStep, number: int, clock: Callable[[], float] = time.monotonic
    ) -> SettlementTransaction:
        """Do a step of one batch now, also out of turn or when stopped; raises why it fails."""
        removals = self._use.removals
        self._stop.lift()
        sender = self._sender(step)
        transactions = sender.transactions
        while transactions.pending is not None or await transactions.is_calling(clock()):
            self._use.check(removals)
            await self._step_or_wait(sender, clock())
        async with self._exclusively():
            self._use.check(removals)
            # A reorg may have removed what is recorded.
            await self._l1_sync.refresh()
            if (by := self._batches.settled(number, step)) is not None:
                return by
            if sender.transactions.pending is None:
                self._stop.now = clock()
                await sender.send(SettlementOperation(step, number, number), self._stop.now)
        while (by := self._batches.settled(number, step)) is None:
            # The batch may be gone, or another one.
            self._use.check(removals)
            await self._step_or_wait(sender, clock())
        async with self._exclusively():
            # For `finalized`: if batches are settled on request only, the next step may never come.
            await self._l1_sync.refresh()
        return by

    async def book(
        self, number: int, clock: Callable[[], float] = time.monotonic
    ) -> SettlementTransaction:
        """Have L1 book an executed batch now; raises why it does not."""
        books, removals = self.books, self._use.removals
        sender = self._sender(SettlementStep.EXECUTE)
        while True:
            async with self._exclusively():
                self._use.check(removals)
                await self._l1_sync.refresh()
                await books.follow(clock())
                if (by := self._batches.books.get(number)) is not None:
                    return by
                if self._batches.settled(number, SettlementStep.EXECUTE) is None:
                    raise LayerOneFailed(f"batch {number} is not executed on {self._l1.name}")
                if await self._is_free(sender, clock()):
                    await books.book(number, clock())
                    problem = books.problem_of(number)
                    if problem is not None and not books.is_sending:
                        raise LayerOneMismatch(f"batch {number} is not booked: {problem}")
            if self._batches.books.get(number) is None:
                await self._l1.wait_for_block(self._config.poll_seconds)

    def has_key_of(self, account: Address) -> bool:
        """Return whether one of the keys is that of an account."""
        return any(sender.transactions.address == account for sender in self._senders)

    async def send_call(
        self, account: Address, to: Address, data: bytes, *, value: int = 0
    ) -> Hash32:
        """Send a call that settles nothing by the key of an account, once nothing of it is pending.

        Until L1 includes it, or `replace_seconds` have passed, no step has its nonce. Raises why it fails.
        """
        sender = next(sender for sender in self._senders if sender.transactions.address == account)
        transactions = sender.transactions
        while True:
            async with self._exclusively():
                now = time.monotonic()
                if transactions.pending is None and not await transactions.is_calling(now):
                    return await transactions.send_call(to, data, now, value=value)
            await self._step_or_wait(sender, time.monotonic())

    # The loop

    @asynccontextmanager
    async def _exclusively(self) -> AsyncIterator[None]:
        """Let no other step run meanwhile, and a replacement of the chain wait for this one."""
        async with self._lock:
            with self._use.held():
                yield

    async def _poll(self) -> float:
        if self._config.is_on_request:
            async with self._exclusively():
                await self._l1_sync.refresh()
                await self.books.follow(time.monotonic())
            return self._config.follow_seconds
        try:
            more = await self.step(time.monotonic())
        except ChainReplaced:
            # There are other batches to settle now.
            return 0.0
        return 0.0 if more else self._config.poll_seconds

    async def _wait(self, seconds: float) -> None:
        is_pending = self.books.is_sending or any(map(self.pending, SettlementStep))
        if self._steps.problem is None and is_pending:
            # The next block may include one.
            await self._l1.wait_for_block(seconds)
        else:
            await self._steps.sleep(seconds)

    async def _step_or_wait(self, sender: StepSender, now: float) -> None:
        """Run a step, and wait if there is no more to do; raises why settlement stopped, or the sender failed."""
        if self.stopped is not None:
            raise LayerOneMismatch(self.stopped)
        more = await self.step(now)
        if sender.failure is not None:
            raise sender.failure
        if not more:
            await self._l1.wait_for_block(self._config.poll_seconds)
        if self.stopped is not None:
            raise LayerOneMismatch(self.stopped)

    # Keys

    async def _advance(self, sender: StepSender, totals: BatchTotals, now: float) -> bool:
        """Send or follow a transaction of one key; record its failure, unless that concerns all."""
        before, sender.failure = sender.failure, None
        try:
            return await sender.advance(totals, now, may_send=self._stop.may_send(sender.steps))
        except LayerOneUnreachable:
            raise
        except EntresolError as error:
            sender.failure = error
            # The loop logs what all of them fail with, so also what the only one does. The same failure has
            # other amounts with each batch and each price.
            is_new = type(error) is not type(before) and len(self._senders) > 1
            log.log(logging.ERROR if is_new else logging.DEBUG, "cannot settle batches: %s", error)
            return False

    async def _advance_books(self, sender: StepSender, now: float) -> bool:
        """Book a batch by the key that executes, in turn with its steps; return whether there may be more to do."""
        books = self.books
        if SettlementStep.EXECUTE not in sender.steps:
            return False
        self._is_turn_of_books = not self._is_turn_of_books
        try:
            await books.follow(now)
            has_turn = self._is_turn_of_books or self._plan.next_operation(sender.steps) is None
            more = has_turn and await self._is_free(sender, now) and await books.advance(now)
        except LayerOneUnreachable:
            raise
        except EntresolError as error:
            # Books are worth less than the steps, which go on.
            is_new = type(error) is not type(books.failure)
            log.log(logging.ERROR if is_new else logging.DEBUG, "cannot book batches: %s", error)
            books.failure = error
            return False
        books.failure = None
        return more

    async def _is_free(self, sender: StepSender, now: float) -> bool:
        """Return whether a key has no transaction pending."""
        transactions = sender.transactions
        return transactions.pending is None and not await transactions.is_calling(now)

    def _transactions(
        self, operator: Operator, steps: Sequence[SettlementStep], timelock: Address
    ) -> StepTransactions:
        return StepTransactions(
            self._journal,
            operator,
            steps,
            timelock,
            resend_seconds=self._config.resend_seconds,
            replace_seconds=self._config.replace_seconds,
        )

    def _sender(self, step: SettlementStep) -> StepSender:
        return next(sender for sender in self._senders if step in sender.steps)
