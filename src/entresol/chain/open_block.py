"""A block that is being built: its priority transactions may execute on another thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from entresol.chain.block_producer import include_priority

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol._native import Overlay, Snapshot
    from entresol.chain.dev.block_settings import BlockSettings
    from entresol.chain.dev.clock import ClockState
    from entresol.execution.block_executor import BlockExecutor
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Hash32


class BuildState(NamedTuple):
    """What a block is built on; while it is equal, the block is still the next one."""

    parent: Hash32
    state: Snapshot | Overlay
    """The state with edits; each edit creates another object."""
    clock: ClockState
    settings: BlockSettings


class OpenBlock:
    """The next block, opened on the thread of the chain and sealed there by `Chain.seal_open`.

    Remembers: the executor with what has been executed, and what the block is built on. Assumes: one thread at a
    time; `execute` touches nothing that others change.
    """

    def __init__(
        self, executor: BlockExecutor, priority: Sequence[Transaction], state: BuildState
    ) -> None:
        self.executor = executor
        self.state = state
        self.is_full = False
        self._priority = priority

    @property
    def transactions(self) -> Sequence[Transaction]:
        """The transactions of the block so far."""
        return self.executor.transactions

    def execute(self) -> None:
        """Execute the priority transactions that were pending when the block was opened."""
        self.is_full = not include_priority(self.executor, self._priority)
