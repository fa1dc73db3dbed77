"""The block that would be sealed now, built once for all who ask about it."""

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


class _Origin(msgspec.Struct, frozen=True):
    """Everything that a pending block follows from; as long as that is the same, so is the block."""

    parent: ParentBlock
    env: BlockEnv
    state: Snapshot | Overlay
    """The state before its first transaction, edits included; each edit makes another object."""
    pool: int
    priority: tuple[Transaction, ...]

    def is_still(self, other: _Origin) -> bool:
        return (
            self.state is other.state
            and self.pool == other.pool
            and self.parent == other.parent
            and self.env == other.env
            and self.priority == other.priority
        )


class PendingBlock:
    """Builds the next block when somebody asks, and keeps it until it would come out otherwise.

    Running the whole pool for each question would hold up everybody else: hundreds of them come in one batch. The time
    is part of the block, so it lasts for a second at most.

    Remembers: the block, and what it was built from. Persists: nothing. Assumes: one thread, and that nobody changes
    the block that they are given. Fails: as the producer does, and keeps nothing then.
    """

    def __init__(self, ledger: Ledger, pool: Mempool, producer: BlockProducer) -> None:
        self._ledger = ledger
        self._pool = pool
        self._producer = producer
        self._origin: _Origin | None = None
        self._executor: BlockExecutor
        self._executed: ExecutedBlock | None = None

    def filled(
        self,
        timestamp: int,
        state: Snapshot | Overlay,
        edits: Callable[[], tuple[tuple[StoredChange, ...], tuple[bytes, ...]]],
    ) -> BlockExecutor:
        """Return the block with its transactions run; `state` shows what `edits` returns."""
        origin = self._current(timestamp, state)
        if self._origin is None or not self._origin.is_still(origin):
            self._origin, self._executed = None, None
            self._executor = self._producer.fill(timestamp, *edits())
            # What cannot be executed leaves the pool on the way; then the next one builds it without.
            self._origin = origin if self._pool.version == origin.pool else None
        return self._executor

    def finished(self, executor: BlockExecutor) -> ExecutedBlock:
        """Return what `filled` has just returned, with its roots."""
        assert executor is self._executor
        if self._executed is None:
            self._executed = executor.finish(self._ledger.trie)
        return self._executed

    def _current(self, timestamp: int, state: Snapshot | Overlay) -> _Origin:
        return _Origin(
            parent=self._ledger.parent,
            env=self._ledger.next_block_env(timestamp),
            state=state,
            pool=self._pool.version,
            priority=tuple(self._producer.priority),
        )
