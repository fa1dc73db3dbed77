"""The pending block: built on demand, and cached until it would change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol._native import Overlay, Snapshot
    from entresol.chain.block_producer import BlockProducer
    from entresol.chain.ledger import Ledger
    from entresol.chain.mempool import Mempool
    from entresol.execution.block_executor import BlockExecutor, ExecutedBlock, ParentBlock
    from entresol.execution.evm_env import BlockEnv
    from entresol.primitives.records import StoredChange
    from entresol.primitives.transactions import Transaction


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
    The timestamp is part of the block, so it is cached for a second at most.

    Remembers: the block and its inputs. Persists: nothing. Assumes: one thread, and that callers do not change
    the block. Fails: as the producer does, and caches nothing then.
    """

    def __init__(self, ledger: Ledger, pool: Mempool, producer: BlockProducer) -> None:
        self._ledger = ledger
        self._pool = pool
        self._producer = producer
        self._inputs: _Inputs | None = None
        self._executor: BlockExecutor
        self._executed: ExecutedBlock | None = None

    def filled(
        self,
        timestamp: int,
        state: Snapshot | Overlay,
        edits: Callable[[], tuple[tuple[StoredChange, ...], tuple[bytes, ...]]],
    ) -> BlockExecutor:
        """Return the block with its transactions executed; `state` includes what `edits` returns."""
        inputs = self._current(timestamp, state)
        if self._inputs is None or not self._inputs.equals(inputs):
            self._inputs, self._executed = None, None
            self._executor = self._producer.fill(timestamp, *edits())
            # Building drops invalid transactions from the pool; if it did, the next call builds it again.
            self._inputs = inputs if self._pool.version == inputs.pool else None
        return self._executor

    def is_cached(self, timestamp: int, state: Snapshot | Overlay) -> bool:
        """Return whether `filled` has nothing to execute."""
        return self._inputs is not None and self._inputs.equals(self._current(timestamp, state))

    def adopt(
        self,
        executor: BlockExecutor,
        executed: ExecutedBlock,
        timestamp: int,
        state: Snapshot | Overlay,
    ) -> None:
        """Cache a block that was built elsewhere on what there is now, if it has this timestamp."""
        if executor.env.timestamp == timestamp:
            self._inputs = self._current(timestamp, state)
            self._executor, self._executed = executor, executed

    def finished(self, executor: BlockExecutor) -> ExecutedBlock:
        """Return the block that `filled` has just returned, with its roots."""
        assert executor is self._executor
        if self._executed is None:
            self._executed = executor.finish(self._ledger.trie)
        return self._executed

    def _current(self, timestamp: int, state: Snapshot | Overlay) -> _Inputs:
        return _Inputs(
            parent=self._ledger.parent,
            env=self._ledger.next_block_env(timestamp),
            state=state,
            pool=self._pool.version,
            priority=tuple(self._producer.priority),
        )
