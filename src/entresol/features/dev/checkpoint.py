"""Checkpoints of one chain (`evm_snapshot`), and what a revert to one has to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.chain.ledger import RevertedBlocks
from entresol.errors import StateMissing
from entresol.primitives.bounded_map import BoundedMap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from entresol.chain.chain import Chain
    from entresol.chain.history import ChainMark
    from entresol.chain.mempool import Mempool


MAX_CHECKPOINTS: Final = 10_000
"""How many checkpoints are held: those that are never restored would fill the memory."""
MAX_CHECKPOINT_BYTES: Final = 256 * 1024 * 1024
"""How much memory their transactions may take."""


QUICK_BLOCKS: Final = 16
"""How many blocks with contents are reverted on the event loop: each takes some 20 microseconds to read."""

QUICK_TRANSACTIONS: Final = 128
"""How many pooled transactions are restored there: each takes some 5 microseconds."""


class Checkpoint(NamedTuple):
    """The state of a chain, to restore it."""

    mark: ChainMark
    generation: int = 0
    """The generation of the chain, which a state file may have replaced since."""


class CheckpointLog:
    """The checkpoints of a chain by id; the oldest is dropped if there are too many."""

    def __init__(self, max_bytes: int = MAX_CHECKPOINT_BYTES) -> None:
        self._checkpoints: BoundedMap[int, Checkpoint] = BoundedMap(
            MAX_CHECKPOINTS, max_weight=max_bytes
        )
        self.get = self._checkpoints.get
        self._last = 0

    def __len__(self) -> int:
        return len(self._checkpoints)

    def __contains__(self, number: int) -> bool:
        return number in self._checkpoints

    @property
    def weight(self) -> int:
        """The memory that their transactions take, in bytes."""
        return self._checkpoints.weight

    def add(self, checkpoint: Checkpoint) -> int:
        """Add a checkpoint and return its id."""
        self._last += 1
        pool = checkpoint.mark.pool
        self._checkpoints.put(self._last, checkpoint, 0 if pool is None else pool.size)
        return self._last

    def take(self, number: int) -> Checkpoint | None:
        """Return the checkpoint with this id, and drop it with all later ones."""
        found = self.get(number)
        if found is not None:
            self._checkpoints.pop_newest(number.__le__)
        return found

    def drop_above(self, block: int, generation: int) -> None:
        """Drop the checkpoints of blocks above `block` of the chain of a generation, which is the current one."""

        def is_above(number: int) -> bool:
            checkpoint = self.get(number)
            if checkpoint is None or checkpoint.generation != generation:
                return False
            return checkpoint.mark.number > block

        # Each is of the same block as the one before it, or of a later one: what is above is the newest.
        self._checkpoints.pop_newest(is_above)

    def drop_generation(self, generation: int) -> None:
        """Drop the checkpoints of a chain that cannot be returned to any more."""
        for number in list(self._checkpoints):
            checkpoint = self.get(number)
            if checkpoint is not None and checkpoint.generation == generation:
                self._checkpoints.pop(number)

    def clear(self) -> None:
        """Drop all checkpoints."""
        self._checkpoints.clear()


class RevertPlan:
    """A revert to block `number`, planned for a chain as it is now.

    `prepare` may run on any thread, and changes nothing.
    """

    def __init__(  # noqa: PLR0913 - independent parts
        self,
        chain: Chain,
        number: int,
        mark: Callable[[], ChainMark],
        restore_pool: Callable[[], Mempool] | None,
        *,
        pooled: int,
        version: int | None = None,
        on_applied: Callable[[], object] = lambda: None,
    ) -> None:
        self.number = number
        self._chain = chain
        self._head = chain.ledger.head_hash
        self._restore_pool = restore_pool
        self._mark = mark
        self._on_applied = on_applied
        self._version = version
        self._pool: Mempool | None = None
        self._reverted = RevertedBlocks(self._head)
        blocks = chain.ledger.store.nonempty.count_above(number)
        self._is_prepared = not blocks and restore_pool is None
        self.is_quick = blocks <= QUICK_BLOCKS and pooled <= QUICK_TRANSACTIONS
        """Whether it takes less than a few milliseconds."""

    @property
    def is_current(self) -> bool:
        """Whether the chain is as it was when the revert was planned."""
        self._chain.flush()
        unchanged = self._version is None or self._chain.pool.version == self._version
        return unchanged and self._chain.ledger.head_hash == self._head

    def prepare(self) -> None:
        """Read the reverted blocks, and build the pool."""
        if self._restore_pool is not None:
            self._pool = self._restore_pool()
        self._reverted = self._chain.ledger.reverted_by(self.number)
        self._is_prepared = True

    def finish_preparing(self) -> None:
        """Prepare what is not prepared."""
        if not self._is_prepared:
            self.prepare()

    def drop_pool(self) -> None:
        """Restore no transactions."""
        self._restore_pool = None

    def apply(self) -> None:
        """Revert the chain; what is not prepared is prepared now."""
        self.finish_preparing()
        self._chain.history.unwind(self._mark(), self._pool, self._reverted)
        self._on_applied()


class ReturnPlan:
    """A revert to a checkpoint of a chain that a state file has replaced since. `prepare` may run on any thread."""

    is_quick = False

    def __init__(
        self,
        chain: Chain,
        is_there: Callable[[], bool],
        return_to: Callable[[RevertedBlocks], RevertPlan],
        prepare: Callable[[], None],
    ) -> None:
        self._chain = chain
        self._prepare = prepare
        self._is_there = is_there
        self._return_to = return_to
        self._head = chain.ledger.head_hash
        self._reverted = RevertedBlocks(self._head)
        self._is_prepared = False

    @property
    def is_current(self) -> bool:
        """Whether the chain is as it was when the revert was planned."""
        self._chain.flush()
        return self._is_there() and self._chain.ledger.head_hash == self._head

    def prepare(self) -> None:
        """Read the blocks that are removed, and what takes their place."""
        self._reverted = self._chain.ledger.reverted_by(-1)
        self._prepare()
        self._is_prepared = True

    def finish_preparing(self) -> None:
        """Prepare what is not prepared."""
        if not self._is_prepared:
            self.prepare()

    def apply(self) -> None:
        """Replace the chain by the one before, and revert that to the checkpoint."""
        self.finish_preparing()
        plan = self._return_to(self._reverted)
        try:
            plan.finish_preparing()
        except StateMissing:
            # A fork does not know the senders of the pool there, and the chain is replaced already.
            plan.drop_pool()
        plan.apply()


class NodeRevertPlan:
    """Reverts of the chains of a node, which are applied together."""

    def __init__(
        self, plans: Sequence[RevertPlan | ReturnPlan], finish: Callable[[], None] = lambda: None
    ) -> None:
        self._plans = plans
        self._finish = finish

    @property
    def is_quick(self) -> bool:
        """Whether all of them take less than a few milliseconds."""
        for plan in self._plans:  # noqa: SIM110  # a generator takes twice as long
            if not plan.is_quick:
                return False
        return True

    @property
    def is_current(self) -> bool:
        """Whether all chains are as they were."""
        return all(plan.is_current for plan in self._plans)

    def prepare(self) -> None:
        """Do on any thread what takes long."""
        for plan in self._plans:
            plan.prepare()

    def apply(self) -> None:
        """Revert the chains, one after the other, once all are prepared: preparing may fail."""
        for plan in self._plans:
            plan.finish_preparing()
        for plan in self._plans:
            plan.apply()
        self._finish()
