"""Checkpoints of one chain (`evm_snapshot`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from entresol.chain.block_settings import BlockSettings
from entresol.chain.clock import ClockState
from entresol.chain.finality import Finality
from entresol.chain.mempool import PoolCheckpoint
from entresol.primitives.bounded_map import BoundedMap
from entresol.storage.batch_table import BatchMark

if TYPE_CHECKING:
    from entresol._native import Overlay
    from entresol.primitives.transactions import Transaction

MAX_CHECKPOINTS: Final = 10_000
"""How many checkpoints are held: those that are never restored would fill the memory."""
MAX_CHECKPOINT_BYTES: Final = 256 * 1024 * 1024
"""How much memory their transactions may take."""


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a chain, to restore it."""

    number: int
    pool: PoolCheckpoint
    priority: tuple[Transaction, ...]
    clock: ClockState
    settings: BlockSettings
    finality: Finality
    batches: BatchMark | None
    """None if the chain has no L1 that is restored with it."""
    edited: Overlay | None
    base_fee: int
    """That of the next block, by which the pool is ordered."""
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
        self._checkpoints.put(self._last, checkpoint, checkpoint.pool.size)
        return self._last

    def take(self, number: int) -> Checkpoint | None:
        """Return the checkpoint with this id, and drop it with all later ones."""
        found = self.get(number)
        if found is not None:
            self._checkpoints.pop_newest(number.__le__)
        return found

    def drop_above(self, block: int, generation: int) -> None:
        """Drop the checkpoints of blocks above `block` of the chain of a generation."""
        checkpoints = [(it, self._checkpoints.get(it)) for it in self._checkpoints]
        for number, checkpoint in checkpoints:
            if checkpoint is None or checkpoint.generation != generation:
                continue
            if checkpoint.number > block:
                self._checkpoints.pop(number)

    def clear(self) -> None:
        """Drop all checkpoints."""
        self._checkpoints.clear()
