"""Checkpoints across L1 and L2, which are restored together."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from entresol.dev.checkpoint import MAX_CHECKPOINTS
from entresol.dev.revert_plan import LinkedRevertPlan
from entresol.primitives.bounded_map import BoundedMap

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.dev.revert_plan import ReturnPlan, RevertPlan
    from entresol.dev.reverts import Reverts


class Checkpoints:
    """Creates and restores checkpoints of several chains at once.

    An L2 that is reverted alone would no longer match what its L1 has settled, and vice versa.
    Remembers: which checkpoints of the chains belong together. Persists: nothing.
    """

    def __init__(self, *reverts: Reverts) -> None:
        self._reverts = reverts
        self._checkpoints: BoundedMap[int, tuple[int, ...]] = BoundedMap(MAX_CHECKPOINTS)
        self._last = 0

    def create(self) -> int:
        """Create a checkpoint of all chains and return its id."""
        self._last += 1
        is_linked = len(self._reverts) > 1
        created = tuple([it.checkpoint(with_settlement=is_linked) for it in self._reverts])
        self._checkpoints.put(self._last, created)
        return self._last

    def blocks(self, chain: Chain) -> dict[int, int]:
        """Return the number of the head of `chain` at each checkpoint that it can revert to, by id."""
        index = [it.chain for it in self._reverts].index(chain)
        checkpoints = self._reverts[index].checkpoints
        found = {it: self._checkpoints.get(it) for it in self._checkpoints}
        own = {
            it: checkpoints.get(parts[index]) for it, parts in found.items() if parts is not None
        }
        return {
            it: checkpoint.mark.number for it, checkpoint in own.items() if checkpoint is not None
        }

    def restore(self, number: int) -> bool:
        """Revert all chains to a checkpoint, which is dropped with all later ones."""
        plan = self.plan(number)
        if plan is not None:
            plan.apply()
        return plan is not None

    def plan(self, number: int) -> LinkedRevertPlan | None:
        """Return what reverts all chains to a checkpoint; None if there is no such."""
        checkpoints = self._checkpoints.get(number)
        if checkpoints is None:
            return None
        plans: list[RevertPlan | ReturnPlan] = []
        drop = partial(self._checkpoints.pop_newest, number.__le__)
        for reverts, checkpoint in zip(self._reverts, checkpoints, strict=True):
            plan = reverts.plan_restore(checkpoint)
            if plan is None:
                # One of a block that was rolled back, or that was dropped for others, is gone on all chains.
                self._checkpoints.pop(number)
                return None
            plans.append(plan)
        return LinkedRevertPlan(plans, drop)
