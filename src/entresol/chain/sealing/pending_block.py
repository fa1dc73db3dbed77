"""The pending block: built on demand, and cached until it would change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from entresol._native import Overlay, Snapshot
    from entresol.chain.mempool import Mempool
    from entresol.chain.sealing.block_producer import BlockProducer
    from entresol.chain.sealing.next_block import NextBlock
    from entresol.execution.block_executor import BlockExecutor, ExecutedBlock, ParentBlock
    from entresol.execution.evm_env import BlockEnv
    from entresol.execution.work_budget import WorkBudget
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Hash32


class _Inputs(msgspec.Struct, frozen=True):
    """The inputs of a pending block; while they are equal, so is the block."""

    parent: ParentBlock
    env: BlockEnv
    state: Snapshot | Overlay
    """The state before its first transaction, with edits; each edit creates another object."""
    pool: int
    priority: tuple[Transaction, ...]

    def equals(self, other: _Inputs) -> bool:
        return (
            self.state is other.state
            and self.pool == other.pool
            and self.parent == other.parent
            and self.env == other.env
            and self.priority == other.priority
        )


class PendingBlock:
    """Builds the pending block on demand, and caches it until its inputs change.

    A batch may have hundreds of requests for it, and executing the whole pool for each would block all others.
    The timestamp is part of the block, so it is cached for a second at most. What is invalid in it stays in the pool
    until a block is sealed, and is not executed again for the same parent.

    Remembers: the block and its inputs, and what is invalid on its parent. Persists: nothing. Assumes: one thread, and
    that callers do not change the block. Fails: as the producer does, and keeps what it had then.
    """

    def __init__(self, next_block: NextBlock, pool: Mempool, producer: BlockProducer) -> None:
        self._next = next_block
        self._ledger = next_block.ledger
        self._pool = pool
        self._producer = producer
        self._inputs: _Inputs | None = None
        self._executor: BlockExecutor
        self._executed: ExecutedBlock | None = None
        self._invalid: set[Hash32] = set()

    def cached(self) -> BlockExecutor | None:
        """Return the block if `filled` has nothing to execute."""
        is_current = self._inputs is not None and self._inputs.equals(self._current())
        return self._executor if is_current else None

    def filled(self, budget: WorkBudget | None = None) -> BlockExecutor:
        """Return the block with its transactions executed."""
        inputs = self._current()
        if self._inputs is None or not self._inputs.equals(inputs):
            if self._inputs is None or self._inputs.state is not inputs.state:
                self._invalid.clear()
            executor = self._producer.fill(
                inputs.env.timestamp, *self._next.edits.stored(), known=self._invalid, budget=budget
            )
            self._invalid.update(it.transaction.hash for it in executor.rejected)
            self._inputs, self._executor, self._executed = inputs, executor, None
        return self._executor

    def finished(self, budget: WorkBudget | None = None) -> ExecutedBlock:
        """Return the block with its roots."""
        executor = self.filled(budget)
        if self._executed is None:
            self._executed = executor.finish(self._ledger.trie)
        return self._executed

    def adopt(self, executor: BlockExecutor, executed: ExecutedBlock) -> None:
        """Cache a block that was built elsewhere on what there is now, if it has the timestamp of now."""
        inputs = self._current()
        if executor.env.timestamp == inputs.env.timestamp:
            self._invalid.clear()
            self._inputs, self._executor, self._executed = inputs, executor, executed

    def _current(self) -> _Inputs:
        ledger = self._ledger
        return _Inputs(
            parent=ledger.parent,
            env=ledger.next_block_env(self._next.timestamp()),
            state=self._next.latest,
            pool=self._pool.version,
            priority=tuple(self._producer.priority),
        )
