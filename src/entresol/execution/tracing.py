"""Trace the transactions of a sealed block, or calls, within the budget of a request."""

from __future__ import annotations

from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import msgspec

from entresol import _native
from entresol._native import Limits, Tracer, TraceWriter
from entresol.errors import DeadlinePassed, TraceTooLarge
from entresol.execution.calls import CallRequest
from entresol.execution.evm_env import EvmEnv, code_of, overlay_on
from entresol.execution.replay import open_replay, replay_transaction
from entresol.primitives.bytecode import is_delegation
from entresol.primitives.values import Hash32
from entresol.state_missing import work_clock

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from entresol._native import ExecutionResult, Rules, Snapshot
    from entresol.execution.block_executor import BlockExecutor
    from entresol.primitives.headers import Header
    from entresol.primitives.records import BlockRecord
    from entresol.primitives.values import Address


TraceOutcome: TypeAlias = "ExecutionResult | DeadlinePassed"
"""The engine's result with its trace, or why there is none."""


class SealedBlock(NamedTuple):
    """A sealed block, and what it was executed on."""

    record: BlockRecord
    parent: Header
    rules: Rules
    snapshot: Snapshot

    def replay(self) -> BlockExecutor:
        """Return an executor that has applied the block's edits, and no transaction."""
        return open_replay(self.record, self.parent, rules=self.rules, snapshot=self.snapshot)

    def env_before(self, position: int) -> EvmEnv:
        """Return the environment before the transaction at `position`."""
        executor = self.replay()
        for index in range(position):
            replay_transaction(executor, self.record, index)
        return EvmEnv(executor.overlay, self.rules, executor.env)

    def codes_at(self, position: int) -> Callable[[Address], bytes]:
        """Return the codes that accounts have while the transaction at `position` runs, without what it creates.

        It applies its authorizations before it runs; they remain also if it fails.
        """
        before = self.env_before(position).state
        if not self.record.transaction(position).payload.authorizations:
            return partial(code_of, before)
        after = self.env_before(position + 1).state

        def code(address: Address) -> bytes:
            found, later = code_of(before, address), code_of(after, address)
            return later if is_delegation(found) or is_delegation(later) else found

        return code

    def position_of(self, transaction_hash: Hash32) -> int | None:
        """Return the position of a transaction; None if the block has it not."""
        hashes = map(self.record.transaction_hash, range(len(self.record.transactions)))
        return next((at for at, found in enumerate(hashes) if found == transaction_hash), None)


class TracedTransaction(NamedTuple):
    """A transaction of a block with its trace."""

    position: int
    hash: Hash32
    outcome: TraceOutcome


def trace_transaction(
    block: SealedBlock, index: int, options: bytes, budget: TraceBudget
) -> ExecutionResult:
    """Return the result of one transaction with its trace, after those before it."""
    executor = block.replay()
    for before in range(index):
        replay_transaction(executor, block.record, before)
    first_log = sum(len(result.logs) for result in block.record.results[:index])
    outcome = _trace(executor, block, index, first_log, options, budget).outcome
    if isinstance(outcome, DeadlinePassed):
        raise outcome
    return outcome


def trace_block(
    block: SealedBlock, options: bytes, budget: TraceBudget, only: Container[int] | None = None
) -> Iterator[TracedTransaction]:
    """Yield all transactions of a block, or `only` some; one that takes too long has an error instead of a trace."""
    executor = block.replay()
    logs_before = accumulate((len(result.logs) for result in block.record.results), initial=0)
    for index, first_log in zip(range(len(block.record.transactions)), logs_before, strict=False):
        if only is not None and index not in only:
            replay_transaction(executor, block.record, index)
            continue
        traced = _trace(executor, block, index, first_log, options, budget)
        if isinstance(traced.outcome, DeadlinePassed):
            replay_transaction(executor, block.record, index)
        yield traced


def _trace(
    executor: BlockExecutor,
    block: SealedBlock,
    index: int,
    first_log: int,
    options: bytes,
    budget: TraceBudget,
) -> TracedTransaction:
    transaction = block.record.transaction(index)
    tracer = Tracer(
        options,
        transaction_hash=transaction.hash,
        transaction_index=index,
        block_hash=block.record.hash(),
        first_log=first_log,
    )
    outcome: TraceOutcome
    limits = budget.left()
    try:
        outcome = executor.trace(transaction, tracer, limits)
    except TraceTooLarge:
        raise budget.too_large() from None
    except DeadlinePassed:
        outcome = DeadlinePassed("execution timeout")
    return TracedTransaction(index, transaction.hash, outcome)


def trace_call(
    evm_env: EvmEnv, request: CallRequest, options: bytes, budget: TraceBudget, gas_cap: int
) -> ExecutionResult:
    """Return the result of a call with its trace; a call may use `gas_cap` at most."""
    limits = Limits(seconds=budget.seconds_left(), trace_bytes=budget.bytes_left())
    try:
        return _native.trace_call(evm_env, request, gas_cap, limits=limits, tracer=Tracer(options))
    except TraceTooLarge:
        raise budget.too_large() from None
    except DeadlinePassed:
        raise DeadlinePassed("execution timeout") from None


class CallSequence:
    """Calls that are traced one after another, each on the state that the one before it left."""

    def __init__(self, evm_env: EvmEnv, budget: TraceBudget, gas_cap: int) -> None:
        self._overlay = overlay_on(evm_env.state)
        self._env = evm_env
        self._budget = budget
        self._gas_cap = gas_cap

    @property
    def env(self) -> EvmEnv:
        """The environment of the next call."""
        return EvmEnv(self._overlay, self._env.rules, self._env.block)

    def trace(
        self, request: CallRequest, options: bytes, env: EvmEnv | None = None
    ) -> ExecutionResult:
        """Return the result of the next call with its trace, in another block environment if one is given."""
        ran = trace_call(env or self.env, request, options, self._budget, self._gas_cap)
        self._overlay.apply(ran)
        return ran


MAX_SECONDS: Final = 60.0
"""How long the traces of a request may take together, whatever time a client allows for each."""


class TraceLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How long a trace may be, and how long it may take."""

    max_bytes: int = 256 << 20
    """Bytes of all traces of a request, and of what they are made from."""
    seconds: float = 5.0
    """Time for one transaction, unless the request says otherwise."""


class TraceBudget:
    """Collects the traces of a request, and says what is left for the next one, all on one thread."""

    def __init__(self, limits: TraceLimits, seconds: float | None = None) -> None:
        self.writer = TraceWriter()
        self._max_bytes = limits.max_bytes
        self._seconds = limits.seconds if seconds is None else seconds
        self._end = work_clock() + MAX_SECONDS

    def left(self) -> Limits:
        """Return the limits of the next execution."""
        return Limits(seconds=self.seconds_left(), trace_bytes=self.bytes_left())

    def seconds_left(self) -> float:
        """Return the time for the next execution."""
        left = self._end - work_clock()
        if left <= 0:
            raise DeadlinePassed(f"the traces took longer than {MAX_SECONDS:g} s together")
        return min(self._seconds, left)

    def bytes_left(self) -> int:
        """Return the bytes that the next trace may have."""
        left = self._max_bytes - len(self.writer)
        if left < 0:
            raise self.too_large()
        return left

    def too_large(self) -> TraceTooLarge:
        """Return the error of traces that exceed the limit."""
        return TraceTooLarge(
            f"the trace needs more than {self._max_bytes} bytes: --trace-limit-bytes sets the limit"
        )
