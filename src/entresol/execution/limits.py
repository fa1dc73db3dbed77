"""Bounds of executions: what a call may take, what the blocks of a chain may, and what a block may publish."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import msgspec

from entresol._native import CancelFlag, ExecutionResult, Limits, blob_base_fee
from entresol.errors import (
    AccountRejection,
    BlockFullOfData,
    BlockFullOfMessages,
    DeadlinePassed,
    InvalidTransaction,
)
from entresol.primitives.l2_to_l1_logs import MAX_LOGS_PER_BATCH
from entresol.primitives.published.body import (
    MAX_FRAME_BYTES,
    MAX_HEAD_BYTES,
    MAX_ROOT_BYTES,
    transaction_size,
)
from entresol.primitives.published.edits import PublishedEdits
from entresol.primitives.published.limits import MAX_BODY_BYTES
from entresol.primitives.published.rules import MAX_RULES_BYTES
from entresol.primitives.published.writer import varint_size
from entresol.primitives.transactions import PriorityTransaction, SystemTransaction
from entresol.primitives.values import Hash32
from entresol.state_missing import work_clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol._native import ExecutionResult, Rules
    from entresol.errors import InvalidTransaction
    from entresol.execution.evm_env import BlockEnv
    from entresol.primitives.interop_bundles import MessageLoad
    from entresol.primitives.records import StoredChange
    from entresol.primitives.transactions import BlobTransaction, Transaction


T = TypeVar("T")


class CallLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How far a call, an estimate or a simulation may go before it is stopped.

    `gas_cap` bounds the gas limit of each run. `gas_budget`, `seconds` and `cancel` bound all runs
    together. Exceeding the budget raises `GasBudgetSpent`: the event loop tries a call with a small
    budget first, and offloads it to a thread if it needs more. `published_bytes` is what a batch can publish of a
    transaction: estimates reject larger data, which no pool accepts.
    """

    gas_cap: int = 50_000_000
    seconds: float | None = 5.0
    gas_budget: int | None = None
    cancel: CancelFlag | None = None
    published_bytes: int | None = None

    def native(self) -> Limits:
        """Return what bounds all runs, as the engine takes it; the clock starts with the first."""
        return Limits(gas=self.gas_budget, seconds=self.seconds, cancel=self.cancel)


DEFAULT_LIMITS: Final = CallLimits()


class CallBudget:
    """The rest of the limits of a call that takes several runs, all on one thread."""

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits
        self._gas = limits.gas_budget
        self._deadline = None if limits.seconds is None else work_clock() + limits.seconds

    def left(self) -> Limits:
        """Return the limits of the next run."""
        seconds = None if self._deadline is None else self._deadline - work_clock()
        if seconds is not None and seconds <= 0:
            raise DeadlinePassed
        return Limits(gas=self._gas, seconds=seconds, cancel=self._limits.cancel)

    def spend(self, result: ExecutionResult) -> None:
        """Deduct what a run has spent."""
        if self._gas is not None:
            self._gas = max(0, self._gas - result.budget_spent)


def run_limited(limits: CallLimits, run: Callable[[CallLimits], T]) -> T:
    """Return what `run` returns; a timeout is reported in geth's wording."""
    try:
        return run(limits)
    except DeadlinePassed as error:
        raise DeadlinePassed(f"execution aborted (timeout = {limits.seconds:g}s)") from error


GAS_PER_SECOND: Final = 500_000_000
"""How much gas of instructions without a surcharge takes a second: two nanoseconds for a unit."""


MAX_REJECTED_GAS: Final = 3_000_000

MAX_REJECTED_SECONDS: Final = 0.05
"""How much gas and time of a block may go to what it rejects; the rest waits for the next block."""


class WorkBudget:
    """The budget of the transactions of one or more blocks, in gas of instructions that take as long.

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
        raise BlockFullOfData(f"the block would have {count} blobs, and may have {limit}")
    price = blob_base_fee(rules, env.fork_fields.excess_blob_gas or 0) or 0
    if payload.max_fee_per_blob_gas < price:
        offered = payload.max_fee_per_blob_gas
        raise BlockFullOfData(f"blob gas costs {price} wei, and the transaction pays {offered}")


def exceeds_batch(messages: MessageLoad) -> bool:
    """Return whether a batch cannot hold these messages to L1, or L1 cannot book its bundles."""
    return messages.logs > MAX_LOGS_PER_BATCH or not messages.is_bookable


def check_messages(messages: MessageLoad, included: MessageLoad) -> None:
    """Reject the messages of a transaction if a batch cannot hold them, or not beside those `included`.

    A block is never divided, so what its batch could not hold would never settle, and bundles that L1 could not book
    would be lost.
    """
    if messages.logs > MAX_LOGS_PER_BATCH:
        raise InvalidTransaction(
            f"the transaction sends {messages.logs:d} messages to L1, and a batch has {MAX_LOGS_PER_BATCH:d} at most"
        )
    if not messages.is_bookable:
        raise InvalidTransaction(
            f"the transaction sends bundles to other chains and {messages.logs:d} messages to L1, "
            f"{messages.size:d} bytes together: "
            "more than one transaction of L1 can book"
        )
    together = included.plus(messages)
    if together.logs > MAX_LOGS_PER_BATCH:
        raise BlockFullOfMessages(
            f"the block would have {together.logs:d} messages to L1, and a batch has {MAX_LOGS_PER_BATCH:d} at most"
        )
    if not together.is_bookable:
        raise BlockFullOfMessages(
            f"the block would have bundles for other chains and {together.logs:d} messages to L1, "
            f"{together.size:d} bytes together: more than one transaction of L1 can book"
        )


_HASHED_BYTES: Final = Hash32.size + 10
"""The size of edits by hash, at most."""
MAX_BLOCK_BYTES: Final = (
    MAX_BODY_BYTES - MAX_FRAME_BYTES - MAX_HEAD_BYTES - MAX_RULES_BYTES - _HASHED_BYTES
)
"""The size of the transactions and edits of a block, at most, so that a batch of this block alone can be published."""

MAX_PUBLISHED_TRANSACTION: Final = MAX_BLOCK_BYTES - varint_size(MAX_BLOCK_BYTES)
"""The largest transaction that a block can have, and a batch can publish."""


class ByteRoom:
    """Counts what a block publishes, as a batch has it before it is compressed.

    Remembers: what is left. Deposits take nothing: L1 has them, and a batch has only their number.
    """

    def __init__(self, left: int = MAX_BLOCK_BYTES) -> None:
        self.left = left

    def check(self, transaction: Transaction) -> None:
        """Raise `BlockFullOfData` if a transaction does not fit."""
        size = published_size(transaction)
        if size > self.left:
            raise BlockFullOfData(
                f"the transaction takes {size:d} bytes of what a batch publishes, and the block has {self.left:d} left"
            )

    def take(self, transaction: Transaction) -> None:
        """Count a transaction that the block includes."""
        self.left -= published_size(transaction)

    def take_edits(self, edits: Sequence[StoredChange], codes: Sequence[bytes]) -> None:
        """Count edits; of those that are too large for any batch only the hash is published."""
        if edits:
            size = len(PublishedEdits.of(edits, codes).encode())
            # Room for a hash is always left.
            self.left -= size if size <= self.left else 0


def published_size(transaction: Transaction) -> int:
    """Return how many bytes a transaction takes in the block that includes it."""
    payload = transaction.payload
    if isinstance(payload, PriorityTransaction):
        return 0
    if isinstance(payload, SystemTransaction):
        return MAX_ROOT_BYTES * len(payload.roots)
    return transaction_size(len(transaction.raw))
