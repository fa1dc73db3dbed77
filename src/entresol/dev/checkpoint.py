"""Checkpoints of one chain (`evm_snapshot`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.primitives.bounded_map import BoundedMap

if TYPE_CHECKING:
    from entresol.chain.history import ChainMark

MAX_CHECKPOINTS: Final = 10_000
"""How many checkpoints are held: those that are never restored would fill the memory."""
MAX_CHECKPOINT_BYTES: Final = 256 * 1024 * 1024
"""How much memory their transactions may take."""


class Checkpoint(NamedTuple):
    """What a chain was, to restore it."""

    mark: ChainMark
    generation: int = 0
    """That of the chain, which a state file may have replaced since."""


class CheckpointLog:
    """The checkpoints of a chain by id; the oldest is dropped if there are too many.

    Remembers: them. Persists: nothing.
    """

    def __init__(self, max_bytes: int = MAX_CHECKPOINT_BYTES) -> None:
        self._checkpoints: BoundedMap[int, Checkpoint] = BoundedMap(
            MAX_CHECKPOINTS, max_weight=max_bytes
        )
        self.get = self._checkpoints.get
        """Return the checkpoint with this id."""
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
        checkpoints = [(it, self.get(it)) for it in self._checkpoints]
        for number, checkpoint in checkpoints:
            if checkpoint is not None and checkpoint.generation == generation:
                self._checkpoints.pop(number)

    def clear(self) -> None:
        """Drop all checkpoints."""
        self._checkpoints.clear()
