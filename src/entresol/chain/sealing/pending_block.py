"""Blocks that are not sealed: one that is being built in parts, and the pending one, cached until it would change."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec

from entresol.chain.sealing.block_filler import include_priority

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from entresol._native import Overlay, Snapshot
    from entresol.chain.mempool import Mempool
    from entresol.chain.sealing.block_filler import BlockFiller, BuildState, NextBlock
    from entresol.chain.sealing.pool_inclusion import PoolInclusion
    from entresol.execution.block_executor import BlockExecutor, ExecutedBlock, ParentBlock
    from entresol.execution.evm_env import BlockEnv
    from entresol.execution.limits import WorkBudget
    from entresol.primitives.interop_roots import InteropRoot
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Hash32
    from entresol.state.state_trie import StateTrie
    from entresol.storage.block_rows import Prices


class _Inputs(msgspec.Struct, frozen=True):
    """The inputs of a pending block; while they are equal, so is the block."""

    parent: ParentBlock
    env: BlockEnv
    state: Snapshot | Overlay
    """The state before its first transaction, with edits; each edit creates another object."""
    pool: int
    priority: tuple[Transaction, ...]
    roots: tuple[InteropRoot, ...]
    cold: int
    """The version of what is left out."""

    def equals(self, other: _Inputs) -> bool:
        return (
            self.state is other.state
            and self.pool == other.pool
            and self.cold == other.cold
            and self.parent == other.parent
            and self.env == other.env
            and self.priority == other.priority
            and self.roots == other.roots
        )


def is_vain(block: BlockExecutor) -> bool:
    """Return whether a block has rejected or left out all that it could have included."""
    return not block.transactions and bool(block.rejected or block.cold)


class PendingBlock:
    """Builds the pending block on demand, and caches it until its inputs change.

    A batch may have hundreds of requests for it, and executing the whole pool for each would block all others.
    The timestamp is part of the block, so it is cached for a second at most. What is invalid in it stays in the pool
    until a block is sealed, and is not executed again for the same parent.
    """

    def __init__(self, next_block: NextBlock, pool: Mempool, filler: BlockFiller) -> None:
        self._next = next_block
        self._ledger = next_block.ledger
        self._pool = pool
        self._filler = filler
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
            executor = self._filler.fill(
                inputs.env.timestamp, *self._next.edits.stored(), known=self._invalid, budget=budget
            )
            self._invalid.update(rejected.transaction.hash for rejected in executor.rejected)
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
            priority=tuple(self._filler.priority),
            roots=self._filler.roots.first,
            cold=self._filler.cold.version,
        )


class OpenBlock:
    """The next block, built in parts: `prepare` on the thread of the chain, `execute` on any.

    The chain has to be as it was when `prepare` is called; `execute` touches nothing that others change.
    """

    def __init__(  # noqa: PLR0913 - independent parts
        self,
        executor: BlockExecutor,
        priority: Sequence[Transaction],
        best: PoolInclusion,
        trie: StateTrie,
        state: BuildState,
        *,
        begin: Callable[[], None] | None = None,
        import_roots: Callable[[], None] | None = None,
        prepare_write: Callable[[ExecutedBlock], None] | None = None,
        prices: Prices | None = None,
    ) -> None:
        """Build on `executor`, which `begin` begins, and then `import_roots`; `prepare_write` gets the finished block."""
        self.state = state
        self.prices = prices
        """The prices that its base fee follows from: when it is finished, they may be others."""
        self._first = [part for part in (begin, import_roots) if part is not None]
        self._prepare_write = prepare_write
        self.executed: ExecutedBlock | None = None
        """The finished block."""
        self._executor = executor
        self._priority = priority
        self._best = best
        self._trie = trie
        self._is_full = False
        self._execute: Callable[[], None] | None = None

    @property
    def executor(self) -> BlockExecutor:
        """The block with what has been executed; it must not be changed."""
        return self._executor

    @property
    def is_vain(self) -> bool:
        """Whether the block has rejected or left out all that it could have included."""
        return is_vain(self._executor)

    @property
    def transactions(self) -> Sequence[Transaction]:
        """The transactions of the block so far."""
        return self._executor.transactions

    def prepare(self) -> bool:
        """Prepare the next part: edits, roots of L1, priority transactions, the pool's, the block's roots; return if there is one."""
        if self._first:
            self._execute = self._first.pop(0)
        elif self._priority:
            self._execute = partial(self._include_priority, self._priority)
            self._priority = ()
        elif not self._is_full and self._best.take():
            self._execute = self._best.execute
        else:
            self._execute = self._finish
        return self.executed is None

    def execute(self) -> None:
        """Execute the part that was prepared."""
        assert self._execute is not None
        self._execute()

    def _include_priority(self, transactions: Sequence[Transaction]) -> None:
        self._is_full = not include_priority(self._executor, transactions)

    def _finish(self) -> None:
        executed = self._executor.finish(self._trie)
        if self._prepare_write is not None:
            self._prepare_write(executed)
        self.executed = executed
