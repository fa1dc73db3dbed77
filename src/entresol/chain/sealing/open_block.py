"""The next block while it is built, in parts that may execute on another thread."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from entresol.chain.sealing.block_producer import include_priority

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from entresol.chain.sealing.next_block import BuildState
    from entresol.chain.sealing.pool_inclusion import PoolInclusion
    from entresol.execution.block_executor import BlockExecutor, ExecutedBlock
    from entresol.primitives.transactions import Transaction
    from entresol.state.state_trie import StateTrie


class OpenBlock:
    """The next block, opened on the thread of the chain and written there by `BlockBuilder.write_open`.

    It is built in parts: `prepare` on the thread of the chain, `execute` on any. Remembers: the executor with what has
    been executed, and what the block is built on. Assumes: one thread at a time, and that the chain is as it was when
    `prepare` is called; `execute` touches nothing that others change.
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
        prepare_write: Callable[[ExecutedBlock], None] | None = None,
    ) -> None:
        """Build on `executor`, which `begin` begins first; `prepare_write` is called with the finished block."""
        self.state = state
        self._begin = begin
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
        """Whether the block has rejected all that it could have included."""
        return not self._executor.transactions and bool(self._executor.rejected)

    @property
    def transactions(self) -> Sequence[Transaction]:
        """The transactions of the block so far."""
        return self._executor.transactions

    def prepare(self) -> bool:
        """Prepare the next part: edits, priority transactions, those of the pool, roots; return whether there is one."""
        if self._begin is not None:
            self._execute, self._begin = self._begin, None
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
