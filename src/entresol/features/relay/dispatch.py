"""Send what a queue holds by one account, and follow what becomes of it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, Protocol, TypeVar

from entresol.errors import (
    EntresolError,
    L1FeeTooHigh,
    LayerOneUnreachable,
    OperatorOutOfFunds,
    StateMissing,
)
from entresol.features.relay.errors import RelayOutOfFunds
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.l2_to_l1_logs import TreeNotBuilt
from entresol.rollup.step_loop import Stepping, describe

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

    from entresol.features.relay.relay_account import RelayAccount, RelayCall
    from entresol.primitives.l2_to_l1_logs import ProvenLog
    from entresol.primitives.values import Hash32
    from entresol.rollup.work_queue import WorkQueue


_WORD: Final = 32


class TransactionProver(Protocol):
    """Proves L2-to-L1 logs of transactions."""

    def prove_transaction_log(
        self, transaction_hash: Hash32, index: int = 0, *, quick: bool = False
    ) -> ProvenLog | None:
        """Prove a log of a transaction; with `quick`, raise `TreeNotBuilt` if that takes long."""


class RelayProofs:
    """Proves messages one at a time: at once if that is quick, and else on a thread.

    Assumes: nobody else uses its prover. Fails: as its prover does.
    """

    def __init__(self, prover: TransactionProver) -> None:
        self._prover = prover
        self._turn = asyncio.Lock()

    async def prove(self, transaction: Hash32, position: int) -> ProvenLog | None:
        """Return the proof of a message of a transaction; None if L1 is not that far."""
        prove = self._prover.prove_transaction_log
        async with self._turn:
            try:
                return prove(transaction, position, quick=True)
            except TreeNotBuilt:
                return await asyncio.to_thread(prove, transaction, position)


def words_of(proven: ProvenLog) -> list[bytes]:
    """Return the words of a proof."""
    joined = b"".join(proven.proof.words)
    return [joined[at : at + _WORD] for at in range(0, len(joined), _WORD)]


log = logging.getLogger(__name__)

MAX_PENDING: Final = 16
"""How many transactions of a relay are pending at once."""
BUDGET_TRANSACTIONS: Final = 100
"""How much gas the relay spends for one sender in an hour, in transactions of the greatest size."""
_BUDGET_SECONDS: Final = 3_600.0
_MAX_SENDERS: Final = 10_000

K = TypeVar("K", bound="Hashable")
T = TypeVar("T")


class _Pending(NamedTuple):
    """A transaction that was sent, and for whom."""

    transaction: Hash32
    sender: Hashable


class _Spent(NamedTuple):
    """The gas that was spent for a sender, which an hour forgets, as of a time."""

    gas: float
    at: float


class Dispatch(Generic[K, T]):
    """Tries items of a queue: whatever one fails with is its own reason to be tried later, and the next one has its turn.

    Remembers: pending transactions, what the account could not pay for, and the gas spent for each sender. Assumes: one
    caller at a time. Fails: if L1 is unreachable or its fees are above the limit, which concerns all items; an account
    without funds is a `problem`, and what it cannot pay for is tried again once it can.
    """

    def __init__(
        self,
        queue: WorkQueue[K, T],
        account: RelayAccount,
        max_gas: int,
        clock: Callable[[], float],
        failing: Callable[[T], str],
    ) -> None:
        """Take the words that say of an item that it cannot be done."""
        self._queue = queue
        self._account = account
        self._max_gas = max_gas
        self._clock = clock
        self._failing = failing
        self._pending: dict[K, _Pending] = {}
        self._unpaid: dict[K, RelayOutOfFunds | OperatorOutOfFunds] = {}
        self._spent: BoundedMap[Hashable, _Spent] = BoundedMap(_MAX_SENDERS)
        self.done = 0
        self.failed = 0
        """Tries that failed, before or after they were sent."""

    @property
    def problem(self) -> str | None:
        """The funds that the account lacks to pay for what is open; None if it lacks nothing."""
        return next((str(short) for key, short in self._unpaid.items() if key in self._queue), None)

    @property
    def is_full(self) -> bool:
        """Whether what is pending has to be included before anything else is sent."""
        return len(self._pending) >= MAX_PENDING or self._account.is_busy

    async def follow(self) -> None:
        """Take the results of what was sent, and let what can be paid for now be tried again."""
        for key, (transaction, sender) in tuple(self._pending.items()):
            outcome = await self._account.outcome(transaction)
            if outcome is None:
                continue
            del self._pending[key]
            self._spend(sender, outcome.gas_used)
            if outcome.succeeded:
                self.done += 1
                self._queue.remove(key)
            else:
                self._on_failed(key, "its transaction failed, or was dropped")
        if self._unpaid:
            balance = await self._account.balance()
            for key, short in tuple(self._unpaid.items()):
                if balance >= short.needed or key not in self._queue:
                    del self._unpaid[key]
                    self._queue.retry(key)

    async def attempt(self, key: K, prepare: Callable[[], Awaitable[RelayCall | None]]) -> bool:
        """Send the call for an item; return False if nothing was tried, as there is no call for it yet."""
        if key not in self._queue:
            return False
        sender = self._queue.sender(key)
        if not self._may_spend(key, sender):
            return False
        try:
            call = await prepare()
            sent = None if call is None else await self._account.submit(call, self._max_gas)
        except (StateMissing, L1FeeTooHigh):
            raise
        except Exception as error:
            if isinstance(error, RelayOutOfFunds | OperatorOutOfFunds):
                self._unpaid[key] = error
            self._on_failed(key, describe(error), error)
            if isinstance(error, LayerOneUnreachable):
                raise
            return True
        self._unpaid.pop(key, None)
        if sent is None:
            return False
        self._pending[key] = _Pending(sent, sender)
        self._queue.take(key)
        return True

    def _on_failed(self, key: K, reason: str, error: Exception | None = None) -> None:
        item = self._queue.get(key)
        if item is None:
            return
        self.failed += 1
        is_unexpected = error is not None and not isinstance(error, EntresolError)
        is_new = self._queue.reason(key) != reason
        is_given_up = self._queue.failed(key, reason, self._clock())
        level = self._queue.log_level(is_given_up=is_given_up)
        log.log(
            logging.ERROR if is_unexpected and is_new else level,
            "%s%s: %s",
            *(self._failing(item), " and is given up for now" if is_given_up else "", reason),
            exc_info=error if is_unexpected and is_new else None,
        )

    # The budget of a sender

    def _may_spend(self, key: K, sender: Hashable) -> bool:
        budget = BUDGET_TRANSACTIONS * self._max_gas
        pending = sum(sent.sender == sender for sent in self._pending.values())
        if self._spent_for(sender) + (pending + 1) * self._max_gas <= budget:
            return True
        if not pending:
            reason = f"in an hour the relay spends {budget:,} gas for one sender, and it has done so for this one"
            self._queue.failed(key, reason, self._clock())
        return False

    def _spent_for(self, sender: Hashable) -> float:
        spent = self._spent.get(sender)
        if spent is None:
            return 0.0
        forgotten = BUDGET_TRANSACTIONS * self._max_gas / _BUDGET_SECONDS
        return max(0.0, spent.gas - forgotten * (self._clock() - spent.at))

    def _spend(self, sender: Hashable, gas: int) -> None:
        self._spent.put(sender, _Spent(self._spent_for(sender) + gas, self._clock()))


class Relay(Stepping, Generic[K, T]):
    """The reports of both relays on the items of their queue."""

    _queue: WorkQueue[K, T]
    _dispatch: Dispatch[K, T]

    @property
    def problem(self) -> str | None:
        """Why it relays nothing; None if it does."""
        return self._steps.problem or self._dispatch.problem

    @property
    def done(self) -> int:
        """How many items it has executed or finalized."""
        return self._dispatch.done

    @property
    def failed(self) -> int:
        """How many tries have failed, before or after they were sent."""
        return self._dispatch.failed

    @property
    def skipped(self) -> int:
        """How many items were given up."""
        return self._queue.skipped

    @property
    def open(self) -> int:
        """How many items are held."""
        return len(self._queue)
