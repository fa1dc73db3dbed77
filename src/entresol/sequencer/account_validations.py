"""Validate transactions that an account or a paymaster has to agree to, on a thread and one at a time."""

from __future__ import annotations

import asyncio
import math
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from entresol._native import has_code
from entresol.errors import (
    AccountRejection,
    InvalidTransaction,
    PoolRejection,
    StateMissing,
    ValidationsThrottled,
)
from entresol.execution.account_senders import Involved, runs_in_steps
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.transactions import ZkTransaction
from entresol.state_missing import fork_threads, retried, waiting

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from entresol.chain.chain import Chain
    from entresol.execution.limits import RejectedTransaction
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Address, Hash32


_Debtor: TypeAlias = "tuple[Address, ...]"
"""The account that answers for time: a culprit, or a sender with the key that has signed."""

_BURST_SECONDS: Final = 5.0
"""A bucket holds what its rate gives in so much time."""
_MAX_DEBTORS: Final = 4_096


_MAX_KEYS: Final = 4
"""How many keys of a sender are known."""

MAX_VALIDATIONS: Final = 64
"""How many transactions of accounts, or with paymasters, may be queued for validation; one is validated at a time."""

_MAX_FAILED: Final = 4_096
"""Transactions that are known to have failed: anybody can send them again."""

_ZK_PREFIX: Final = bytes([ZkTransaction.type])


class _Lane(NamedTuple):
    """Seconds of a thread that failed validations may take in a second: of one culprit, and in total."""

    each: float
    total: float


_NEW: Final = _Lane(each=0.002, total=0.01)
_KNOWN: Final = _Lane(each=0.02, total=0.05)
"""The lane of senders and keys that have passed a validation, so that a flood of others does not keep them out.

Each has its own failures to answer for, also where another is to blame. Only one that has failed since it passed last shares the total.
"""


class ValidationBudget:
    """Leaky buckets of thread time that failed validations have taken, after the reputation of ERC-7562.

    Anybody can send rubbish in the name of a contract account, but only its owner signs with a key that it accepts. So
    a key that has passed before has a bucket of its own, beside that of its sender. Remembers: time by culprit, and
    keys that have passed, up to a number of each. Fails: with `ValidationsThrottled`.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.clear()

    def clear(self) -> None:
        """Forget all addresses, and what they have taken."""
        self._totals = {_NEW: _Bucket(), _KNOWN: _Bucket()}
        self._each: dict[_Lane, BoundedMap[_Debtor, _Bucket]] = {
            lane: BoundedMap(_MAX_DEBTORS) for lane in (_NEW, _KNOWN)
        }
        self._has_passed_last: BoundedMap[_Debtor, bool] = BoundedMap(2 * _MAX_DEBTORS)
        """Senders and keys that have passed a validation, and whether their last one has."""
        self._keys: BoundedMap[Address, tuple[Address, ...]] = BoundedMap(_MAX_DEBTORS)
        """The keys that have passed for a sender, the last one last."""

    @property
    def is_unused(self) -> bool:
        """Whether no validation has failed."""
        return not any(map(len, self._each.values()))

    def check(self, involved: Involved) -> float:
        """Reject a transaction if failed validations have taken too much time; return the part that is left of it.

        The least of its buckets counts.
        """
        now, known = self._clock(), self._known(involved)
        lane = _NEW if known is None else _KNOWN
        left = 1.0
        if known is None or not self._has_passed_last.get(known):
            left = self._totals[lane].left(lane.total, now)
        if left <= 0:
            raise ValidationsThrottled(None)
        for debtor in ((involved.sender,), involved.payer) if known is None else (known,):
            bucket = None if debtor is None else self._each[lane].get(debtor)
            if bucket is None:
                continue
            left = min(left, bucket.left(lane.each, now))
            if left <= 0:
                raise ValidationsThrottled(involved.sender if debtor is None else debtor[0])
        return left

    def check_unread(self, involved: Involved) -> float:
        """Check a transaction before it is known who has signed it: the most counts that a key of its sender has."""
        keys = self._keys.get(involved.sender) or ()
        left, rejection = 0.0, None
        for signer in (None, *keys):
            try:
                left = max(left, self.check(involved._replace(signer=signer)))
            except ValidationsThrottled as error:
                rejection = rejection or error
        if rejection is not None and left <= 0:
            raise rejection
        return left

    def passed(self, involved: Involved) -> None:
        """Record a validation that has succeeded."""
        sender, signer = involved.sender, involved.signer
        self._has_passed_last.put((sender,), True)  # noqa: FBT003  # the value of a map
        if signer is None:
            return
        self._has_passed_last.put((sender, signer), True)  # noqa: FBT003  # the value of a map
        others = (key for key in self._keys.get(sender) or () if key != signer)
        self._keys.put(sender, (*others, signer)[-_MAX_KEYS:])

    def failed(self, involved: Involved, error: Exception, seconds: float) -> None:
        """Record a validation that has failed after some time."""
        known, now = self._known(involved), self._clock()
        lane = _NEW if known is None else _KNOWN
        self._totals[lane].fill(seconds, lane.total, now)
        buckets, debtors = self._each[lane], involved.responsible(error)
        if known is not None:
            debtors = (known,)
            self._has_passed_last.put(known, False)  # noqa: FBT003  # the value of a map
        for debtor in debtors:
            bucket = buckets.get(debtor) or _Bucket()
            bucket.fill(seconds, lane.each, now)
            buckets.put(debtor, bucket)

    def _known(self, involved: Involved) -> _Debtor | None:
        """Return who has passed before: the key that has signed for its sender, or else the sender."""
        sender, signer = involved.sender, involved.signer
        if signer is not None and signer in (self._keys.get(sender) or ()):
            return (sender, signer)
        return None if self._has_passed_last.get((sender,)) is None else (sender,)


class _Bucket:
    """Seconds that were spent, of which as many are forgotten in a second as the rate says."""

    def __init__(self) -> None:
        self._spent = 0.0
        self._at = 0.0

    def left(self, rate: float, now: float) -> float:
        """Return the part of it that may be spent."""
        return 1 - self._level(rate, now) / (rate * _BURST_SECONDS)

    def fill(self, seconds: float, rate: float, now: float) -> None:
        """Spend some time."""
        self._spent, self._at = self._level(rate, now) + seconds, now

    def _level(self, rate: float, now: float) -> float:
        return max(0.0, self._spent - (now - self._at) * rate)


class Validation(NamedTuple):
    """The validation of a transaction that an account or a paymaster has to agree to."""

    hash: Hash32
    involved: Involved
    work: Callable[[], None]


class AccountValidations:
    """Runs validations in the background, for all methods that submit transactions.

    What a block rejects counts as a validation that has failed. Fails: with `PoolRejection`, `ValidationsThrottled`,
    and what the pool rejects a transaction for before it is validated.
    """

    def __init__(
        self, chain: Chain, executor: Executor | None, budget: ValidationBudget | None = None
    ) -> None:
        self._chain = chain
        self._executor = executor
        self._budget = ValidationBudget() if budget is None else budget
        self._tasks: set[asyncio.Task[None]] = set()
        self._expected = 0
        self._failed: BoundedMap[Hash32, bool] = BoundedMap(_MAX_FAILED)
        self._one = asyncio.Semaphore(1)
        chain.rejections.listen(self._on_rejected)

    def forget_failures(self) -> None:
        """Count failed validations anew."""
        self._budget.clear()
        self._failed.clear()

    def check_raw(self, raw: bytes) -> bool:
        """Reject a raw transaction that would be throttled, before it is decoded; return whether to `expect` it.

        The less is left of its budget, the fewer are let through at once: most of them would be decoded in vain.
        """
        penalties = self._chain.pool.penalties
        if raw[:1] != _ZK_PREFIX or (self._budget.is_unused and not len(penalties)):
            return False
        involved = Involved.of_raw(raw)
        if involved is None:
            return False
        penalties.check_involved(involved)
        if involved.paymaster is None and not has_code(self._chain.latest, involved.sender):
            return False
        left = self._budget.check_unread(involved)
        limit = math.ceil(MAX_VALIDATIONS * left)
        if left == 1:
            # It is decoded to see whose it is, and costs no more than a bad signature.
            return False
        if self._expected >= limit:
            raise PoolRejection(
                f"{limit} transactions of accounts are being validated already: try again"
            )
        return True

    def expect(self, response: asyncio.Future[Any]) -> None:
        """Count a raw transaction until it has its response."""
        self._expected += 1
        response.add_done_callback(self._on_response)

    def _on_response(self, _response: asyncio.Future[Any]) -> None:
        self._expected -= 1

    def are_needed(self, transaction: Transaction) -> bool:
        """Return whether an account or a paymaster may have to agree to a transaction."""
        if not isinstance(transaction.payload, ZkTransaction):
            return False
        return runs_in_steps(transaction, self._chain.latest)

    def prepare(self, transaction: Transaction) -> Validation | None:
        """Return what to `run` before a transaction is added to the pool; None if nobody has to agree to it."""
        if not self.are_needed(transaction):
            return None
        involved = self._involved(transaction)
        self._budget.check(involved)
        if len(self._tasks) >= MAX_VALIDATIONS:
            raise PoolRejection(
                f"{MAX_VALIDATIONS} transactions of accounts are being validated already: try again"
            )
        work = self._chain.validation(transaction)
        return None if work is None else Validation(transaction.hash, involved, work)

    async def validate(self, transaction: Transaction) -> None:
        """Validate a transaction if an account or a paymaster has to agree to it; raise what it is rejected for."""
        if (validation := self.prepare(transaction)) is not None:
            await self.run(validation)

    async def run(self, validation: Validation, add: Callable[[], None] = lambda: None) -> None:
        """Validate a transaction that was prepared just now, and `add` it; raise what it is rejected for.

        It goes on if the client goes: the time that it takes would be counted for nobody else.
        """
        task = asyncio.get_running_loop().create_task(self._validate(validation, add))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        await asyncio.shield(task)

    async def _validate(self, validation: Validation, add: Callable[[], None]) -> None:
        involved = validation.involved
        async with self._one:
            # Those before it may have failed.
            self._budget.check(involved)
            ended = await self._timed(self._executor, validation.work)
        if isinstance(ended.error, StateMissing):
            # Others have their turn while this one waits for the remote of a fork.
            work = self._chain.use.guarded(validation.work)
            ended = await self._timed(fork_threads(), waiting(work))
        if isinstance(ended.error, AccountRejection):
            self._failed.put(validation.hash, True)  # noqa: FBT003  # the value of a map
            self._budget.failed(involved, ended.error, ended.seconds)
        if ended.error is not None:
            raise ended.error
        self._budget.passed(involved)
        try:
            await retried(add)
        except (InvalidTransaction, PoolRejection) as error:
            # It was validated in vain.
            self._budget.failed(involved, error, ended.seconds)
            raise

    async def _timed(self, executor: Executor | None, work: Callable[[], None]) -> _Ended:
        return await asyncio.get_running_loop().run_in_executor(executor, _timed, work)

    def _involved(self, transaction: Transaction) -> Involved:
        """Return who takes part; what has failed before says nothing of who sends it again."""
        involved = Involved.of_signed(transaction)
        has_failed = self._failed.get(transaction.hash) is not None
        return involved._replace(signer=None) if has_failed else involved

    def _on_rejected(self, rejected: RejectedTransaction) -> None:
        """Count what a block has executed in vain."""
        payload, error = rejected.transaction.payload, rejected.error
        if isinstance(payload, ZkTransaction) and isinstance(error, AccountRejection):
            involved = self._involved(rejected.transaction)
            self._failed.put(rejected.transaction.hash, True)  # noqa: FBT003  # the value of a map
            self._budget.failed(involved, error, rejected.seconds)


class _Ended(NamedTuple):
    """How a validation has ended, and the time of its thread."""

    error: Exception | None
    seconds: float


def _timed(validation: Callable[[], None]) -> _Ended:
    start, error = time.thread_time(), None
    try:
        validation()
    except Exception as raised:  # noqa: BLE001  # it is raised where the time is recorded
        error = raised
    return _Ended(error, time.thread_time() - start)
