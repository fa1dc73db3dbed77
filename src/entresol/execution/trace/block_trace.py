"""Trace the transactions of a sealed block, from the state of its parent."""

from __future__ import annotations

from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from entresol._native import Tracer
from entresol.errors import DeadlinePassed, TraceTooLarge
from entresol.execution.evm_env import EvmEnv, code_of
from entresol.execution.replay import open_replay, replay_transaction
from entresol.execution.trace.tracing import Tracing
from entresol.primitives.bytecode import is_delegation
from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from entresol._native import ExecutionResult, Rules, Snapshot
    from entresol.execution.block_executor import BlockExecutor
    from entresol.execution.trace.budget import TraceBudget
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
        return next((at for at, it in enumerate(hashes) if it == transaction_hash), None)


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
        outcome = executor.trace(transaction, Tracing(tracer, limits))
    except TraceTooLarge:
        raise budget.too_large() from None
    except DeadlinePassed:
        outcome = DeadlinePassed("execution timeout")
    return TracedTransaction(index, transaction.hash, outcome)
