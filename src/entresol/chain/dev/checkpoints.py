"""Checkpoints across L1 and L2, which are restored together."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from entresol.chain.dev.checkpoint import MAX_CHECKPOINTS
from entresol.chain.dev.revert_plan import PairRevertPlan
from entresol.primitives.bounded_map import BoundedMap

if TYPE_CHECKING:
    from entresol.chain.chain import Chain


class Checkpoints:
    """Creates and restores checkpoints of several chains at once.

    An L2 that is reverted alone would no longer match what its L1 has settled, and vice versa.
    Remembers: which checkpoints of the chains belong together. Persists: nothing.
    """

    def __init__(self, *chains: Chain) -> None:
        self._chains = chains
        self._checkpoints: BoundedMap[int, tuple[int, ...]] = BoundedMap(MAX_CHECKPOINTS)
        self._last = 0

    def create(self) -> int:
        """Create a checkpoint of all chains and return its id."""
        self._last += 1
        self._checkpoints.put(self._last, tuple(chain.checkpoint() for chain in self._chains))
        return self._last

    def blocks(self, chain: Chain) -> dict[int, int]:
        """Return the number of the head of `chain` at each checkpoint that it can revert to, by id."""
        index = self._chains.index(chain)
        found = {it: self._checkpoints.get(it) for it in self._checkpoints}
        own = {
            it: chain.checkpoints.get(parts[index])
            for it, parts in found.items()
            if parts is not None
        }
        return {it: checkpoint.number for it, checkpoint in own.items() if checkpoint is not None}

    def restore(self, number: int) -> bool:
        """Revert all chains to a checkpoint, which is dropped with all later ones."""
        plan = self.plan(number)
        if plan is not None:
            plan.apply()
        return plan is not None

    def plan(self, number: int) -> PairRevertPlan | None:
        """Return what reverts all chains to a checkpoint; None if there is no such."""
        checkpoints = self._checkpoints.get(number)
        if checkpoints is None:
            return None
        parts = zip(self._chains, checkpoints, strict=True)
        is_pair = len(self._chains) > 1
        plans = [chain.plan_restore(it, with_settlement=is_pair) for chain, it in parts]
        found = [it for it in plans if it is not None]
        if len(found) < len(plans):
            # One of a block that was rolled back, or that was dropped for others, is gone on all chains.
            self._drop_from(number)
            return None
        return PairRevertPlan(found, lambda: self._drop_from(number))

    def _drop_from(self, number: int) -> None:
        for later in list(takewhile(number.__le__, reversed(self._checkpoints))):
            self._checkpoints.pop(later)
