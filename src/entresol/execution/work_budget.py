"""Bounds on the work of a block: what must not take long, what is rejected, and how many messages it may send."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from entresol._native import Limits, blob_base_fee
from entresol.errors import (
    AccountRejection,
    BlockFullOfBlobs,
    BlockFullOfBundles,
    BlockFullOfMessages,
    BundlesTooLarge,
    TooManyMessages,
)
from entresol.execution.call.limits import CallBudget
from entresol.primitives.l2_to_l1_logs import MAX_LOGS_PER_BATCH

if TYPE_CHECKING:
    from entresol._native import ExecutionResult, Rules
    from entresol.errors import InvalidTransaction
    from entresol.execution.call.limits import CallLimits
    from entresol.execution.evm_env import BlockEnv
    from entresol.primitives.interop.messages import MessageLoad
    from entresol.primitives.transactions import BlobTransaction, Transaction


GAS_PER_SECOND: Final = 500_000_000
"""How much gas of instructions without a surcharge takes a second: two nanoseconds for a unit."""


MAX_REJECTED_GAS: Final = 3_000_000

MAX_REJECTED_SECONDS: Final = 0.05
"""How much gas and time of a block may go to what it rejects; the rest waits for the next block."""


class WorkBudget:
    """What the transactions of one or more blocks may take, in gas of instructions that take as long.

    Remembers: what is left. Fails: an execution beyond it raises `GasBudgetSpent`, and changes nothing.
    """

    def __init__(self, gas: int) -> None:
        self._left = gas

    def limits(self) -> Limits:
        """Return the limits of the next execution."""
        return Limits(gas=self._left)

    def spend(self, result: ExecutionResult) -> None:
        """Deduct what an execution has taken."""
        self._deduct(result.budget_spent)

    def spend_time(self, seconds: float) -> None:
        """Deduct the time of what has no result, because it was rejected."""
        self._deduct(int(seconds * GAS_PER_SECOND))

    def _deduct(self, gas: int) -> None:
        self._left = max(0, self._left - gas)


class TimedBudget(WorkBudget):
    """What the transactions of a block may take that is built for a client: the time of a call.

    Fails: an execution beyond it raises `DeadlinePassed`, and changes nothing.
    """

    def __init__(self, limits: CallLimits) -> None:
        super().__init__(0)
        self._budget = CallBudget(limits)

    def limits(self) -> Limits:
        """Return the limits of the next execution."""
        return self._budget.left()

    def spend(self, result: ExecutionResult) -> None:
        """Deduct what an execution has taken."""
        self._budget.spend(result)


class RejectedTransaction(NamedTuple):
    """A transaction that is not valid in a block, why, and how long it took to find out."""

    transaction: Transaction
    error: InvalidTransaction
    seconds: float = 0.0


class ColdTransaction(NamedTuple):
    """A transaction that a block of a fork is built without: a value that it reads is missing, or cannot be had."""

    transaction: Transaction
    error: Exception


class RejectedWork:
    """Counts the gas and the time of what a block executes in vain."""

    def __init__(self) -> None:
        self._gas = 0
        self._seconds = 0.0

    @property
    def is_spent(self) -> bool:
        """Whether the block has executed enough in vain."""
        return self._gas >= MAX_REJECTED_GAS or self._seconds >= MAX_REJECTED_SECONDS

    def add(self, gas: int, seconds: float = 0.0) -> None:
        """Count work that was in vain."""
        self._gas += gas
        self._seconds += seconds

    def add_rejected(self, rejected: RejectedTransaction) -> None:
        """Count a rejected transaction: the gas of its steps, if it runs in steps."""
        error = rejected.error
        self.add(error.gas if isinstance(error, AccountRejection) else 0, rejected.seconds)


def check_blobs(payload: BlobTransaction, included: int, rules: Rules, env: BlockEnv) -> None:
    """Reject blobs that do not fit beside those `included`, or that cost more here than the transaction offers."""
    limit, count = rules.max_blobs, included + len(payload.blob_hashes)
    if len(payload.blob_hashes) <= limit < count:
        raise BlockFullOfBlobs(f"the block would have {count} blobs, and may have {limit}")
    price = blob_base_fee(rules, env.fork_fields.excess_blob_gas or 0) or 0
    if payload.max_fee_per_blob_gas < price:
        offered = payload.max_fee_per_blob_gas
        raise BlockFullOfBlobs(f"blob gas costs {price} wei, and the transaction pays {offered}")


def exceeds_batch(messages: MessageLoad) -> bool:
    """Return whether a batch cannot hold these messages to L1, or L1 cannot book its bundles."""
    return messages.logs > MAX_LOGS_PER_BATCH or not messages.is_bookable


def check_messages(messages: MessageLoad, included: MessageLoad) -> None:
    """Reject the messages of a transaction if a batch cannot hold them, or not beside those `included`.

    A block is never divided, so what its batch could not hold would never settle, and bundles that L1 could not book
    would be lost.
    """
    if messages.logs > MAX_LOGS_PER_BATCH:
        raise TooManyMessages(messages.logs, MAX_LOGS_PER_BATCH)
    if not messages.is_bookable:
        raise BundlesTooLarge(messages.logs, messages.size)
    together = included.plus(messages)
    if together.logs > MAX_LOGS_PER_BATCH:
        raise BlockFullOfMessages(together.logs, MAX_LOGS_PER_BATCH)
    if not together.is_bookable:
        raise BlockFullOfBundles(together.logs, together.size)
