"""Revert a chain: to a checkpoint, to a block, and to a chain that a state file has replaced."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Final

from entresol.chain.events import BlocksReverted
from entresol.chain.history import ChainMark
from entresol.errors import RollbackRejected
from entresol.features.dev.checkpoint import (
    MAX_CHECKPOINTS,
    Checkpoint,
    CheckpointLog,
    NodeRevertPlan,
    ReturnPlan,
    RevertPlan,
)
from entresol.primitives.bounded_map import BoundedMap

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from entresol.chain.chain import Chain
    from entresol.chain.events import Event
    from entresol.chain.ledger import RevertedBlocks
    from entresol.chain.mempool import Mempool
    from entresol.primitives.records import StoredChange
    from entresol.storage.store import Store


log = logging.getLogger(__name__)


class Reverts:
    """The checkpoints of one chain, and every way to revert it.

    Assumes: the thread that changes the chain, and that nothing else replaces the chain. Fails: an error leaves the
    chain and the checkpoints unchanged.
    """

    def __init__(self, chain: Chain, checkpoints: CheckpointLog | None = None) -> None:
        self.chain = chain
        self.checkpoints = CheckpointLog() if checkpoints is None else checkpoints
        self._replaced = ReplacedStores()
        chain.events.listen(self._on_reverted, BlocksReverted)

    def close(self) -> None:
        """Close the stores of chains that were replaced."""
        self.chain.events.remove(self._on_reverted)
        self._replaced.close()

    # Checkpoints

    def checkpoint(self, *, with_settlement: bool = False) -> int:
        """Create a checkpoint and return its id; the oldest is dropped if there are too many.

        `with_settlement` says that it is restored with that of the L1: batches that are sealed or settled after it are
        not any more then.
        """
        mark = self.chain.history.mark(with_batches=with_settlement)
        return self.checkpoints.add(Checkpoint(mark, self._replaced.generation))

    def restore(self, checkpoint: int) -> bool:
        """Revert the chain to a checkpoint, which is dropped with all later ones."""
        plan = self.plan_restore(checkpoint)
        if plan is not None:
            plan.apply()
        return plan is not None

    def plan_restore(self, checkpoint: int) -> RevertPlan | ReturnPlan | None:
        """Return what reverts the chain to a checkpoint; None if there is no such."""
        self.chain.flush()
        was = self.checkpoints.get(checkpoint)
        if was is None:
            return None
        if was.generation != self._replaced.generation:
            is_there = partial(self.checkpoints.__contains__, checkpoint)
            prepare = partial(self._prepare_return, was.generation)
            return_to = partial(self._return_to, checkpoint, was)
            return ReturnPlan(self.chain, is_there, return_to, prepare)
        return self._plan_restore(checkpoint, was.mark)

    def _prepare_return(self, generation: int) -> None:
        store = self._replaced.get(generation)
        if store is not None:
            self.chain.ledger.store.prepare_replace(store)

    def _return_to(self, checkpoint: int, was: Checkpoint, reverted: RevertedBlocks) -> RevertPlan:
        """Replace the chain by one that a state file has replaced, and return what reverts that to a checkpoint."""
        store = self._replaced.take(was.generation)
        try:
            self.chain.history.exchange(store, reverted)
        finally:
            store.close()
        return self._plan_restore(checkpoint, was.mark)

    def _plan_restore(self, checkpoint: int, mark: ChainMark) -> RevertPlan:
        chain, pooled = self.chain, mark.pool
        assert pooled is not None

        def pool() -> Mempool:
            state = chain.ledger.state_after(mark.number) if mark.edited is None else mark.edited
            return chain.pool.restored(pooled, state, mark.base_fee)

        count = len(pooled.entries)
        return RevertPlan(
            chain,
            mark.number,
            lambda: mark,
            # A new pool takes longer than everything else of a revert of a few empty blocks.
            pool if count or chain.pool else None,
            pooled=count,
            on_applied=partial(self.checkpoints.take, checkpoint),
        )

    # Blocks

    def plan_roll_back(self, number: int) -> RevertPlan:
        """Return what reverts the chain to block `number` and its time."""
        chain = self.chain
        chain.flush()
        header, state = chain.ledger.header(number), chain.ledger.state_after(number)
        pooled, chosen = chain.pool.checkpoint(), chain.settings.base_fee
        base_fee = chain.rules.fees.next(header) if chosen is None else chosen

        def mark() -> ChainMark:
            return ChainMark(
                number=number,
                clock=chain.clock.at(header.timestamp),
                settings=chain.settings,
                finality=chain.finality.at_most(number),
                base_fee=base_fee,
                # The deposit watcher enqueues again what L1 still has.
                priority=(),
            )

        def pool() -> Mempool:
            restored = chain.pool.restored(pooled, state, base_fee)
            restored.reset(state, base_fee)
            return restored

        count, version = len(pooled.entries), chain.pool.version
        return RevertPlan(chain, number, mark, pool, pooled=count, version=version)

    # Other chains

    def replace(
        self,
        source: Store,
        edits: Sequence[StoredChange] = (),
        codes: Iterable[bytes] = (),
        reverted: RevertedBlocks | None = None,
        *,
        keeps_checkpoints: bool = False,
        copy: Store | None = None,
    ) -> bool:
        """Replace all blocks by those of another store, and the edits; deposits that were pending are dropped.

        `reverted` are the blocks so far, and `copy` a copy of them that is taken over, if they were read already. With
        `keeps_checkpoints`, the chain can revert to them; return whether `source` is held for that.
        """
        held = self._held_by(source, copy) if keeps_checkpoints and len(self.checkpoints) else None
        if copy is not None and held is not copy:
            copy.close()
        self.chain.history.exchange(source, reverted, edits, codes)
        if held is None:
            self.checkpoints.clear()
            self._replaced.close()
            return False
        dropped = self._replaced.add(held)
        if dropped is not None:
            self.checkpoints.drop_generation(dropped)
        return held is source

    def copy_for(self, source: Store) -> Store | None:
        """Return a copy for `replace`, if that needs one to keep checkpoints; any thread may call it."""
        store = self.chain.ledger.store
        if not len(self.checkpoints) or store.exchanges_with(source):
            return None
        return store.copy()

    def _held_by(self, source: Store, copy: Store | None) -> Store | None:
        """Return the store that has the blocks so far once the chain is replaced: they change places, or a copy."""
        self.chain.flush()
        store = self.chain.ledger.store
        if store.exchanges_with(source):
            return source
        held = copy if copy is not None and store.has_copy(copy) else store.copy()
        if held is None:
            log.warning("snapshots are dropped, as the chain that a state file replaces is large")
        return held

    def _on_reverted(self, event: Event) -> None:
        """Drop the checkpoints of reverted blocks, which any part may have reverted."""
        assert isinstance(event, BlocksReverted)
        # Below 0 it is another chain: then `replace` and `restore` know which checkpoints stay.
        if event.head >= 0:
            self.checkpoints.drop_above(event.head, self._replaced.generation)


class Checkpoints:
    """Creates and restores checkpoints of several chains at once.

    An L2 that is reverted alone would no longer match what its L1 has settled, and vice versa.
    """

    def __init__(self, *reverts: Reverts) -> None:
        self._reverts = list(reverts)
        self._checkpoints: BoundedMap[int, tuple[int, ...]] = BoundedMap(MAX_CHECKPOINTS)
        self._last = 0

    def add(self, reverts: Reverts) -> None:
        """Have one more chain, which checkpoints from now on include."""
        self._reverts.append(reverts)

    def create(self) -> int:
        """Create a checkpoint of all chains and return its id."""
        self._last += 1
        is_linked = len(self._reverts) > 1
        created = tuple([revert.checkpoint(with_settlement=is_linked) for revert in self._reverts])
        self._checkpoints.put(self._last, created)
        return self._last

    def blocks(self, chain: Chain) -> dict[int, int]:
        """Return the number of the head of `chain` at each checkpoint that it can revert to, by id."""
        index = [revert.chain for revert in self._reverts].index(chain)
        checkpoints = self._reverts[index].checkpoints
        found = {}
        for number in self._checkpoints:
            parts = self._checkpoints.get(number)
            if parts is None or len(parts) < len(self._reverts):
                continue
            if (checkpoint := checkpoints.get(parts[index])) is not None:
                found[number] = checkpoint.mark.number
        return found

    def restore(self, number: int) -> bool:
        """Revert all chains to a checkpoint, which is dropped with all later ones."""
        plan = self.plan(number)
        if plan is not None:
            plan.apply()
        return plan is not None

    def plan(self, number: int) -> NodeRevertPlan | None:
        """Return what reverts all chains to a checkpoint; None if there is no such.

        Raises `RollbackRejected` for one that does not have all chains.
        """
        checkpoints = self._checkpoints.get(number)
        if checkpoints is None:
            return None
        if len(checkpoints) < len(self._reverts):
            raise RollbackRejected(
                f"chain {self._reverts[len(checkpoints)].chain.rules.chain_id} was added after this snapshot, "
                "and its L1 would not know it: revert to a later one"
            )
        plans: list[RevertPlan | ReturnPlan] = []
        drop = partial(self._checkpoints.pop_newest, number.__le__)
        for reverts, checkpoint in zip(self._reverts, checkpoints, strict=True):
            plan = reverts.plan_restore(checkpoint)
            if plan is None:
                # One of a block that was rolled back, or that was dropped for others, is gone on all chains.
                self._checkpoints.pop(number)
                return None
            plans.append(plan)
        return NodeRevertPlan(plans, drop)


MAX_REPLACED: Final = 4
"""How many replaced chains are held: each is a database of its own."""


class ReplacedStores:
    """The stores of the chains that were there before, by generation; the current chain's is that of the chain.

    Assumes: the thread that changes the chain.
    """

    def __init__(self) -> None:
        self.generation = 0
        """How many chains were there before the current one."""
        self._stores: dict[int, Store] = {}

    def __contains__(self, generation: int) -> bool:
        return generation in self._stores

    def add(self, store: Store) -> int | None:
        """Hold the store of the current generation, and begin the next; return the generation that is dropped for it."""
        self._stores[self.generation] = store
        self.generation += 1
        if len(self._stores) <= MAX_REPLACED:
            return None
        oldest = min(self._stores)
        self._stores.pop(oldest).close()
        return oldest

    def get(self, generation: int) -> Store | None:
        """Return the store of a generation, if it is held."""
        return self._stores.get(generation)

    def take(self, generation: int) -> Store:
        """Return the store of a generation, which is the current one now; later ones are dropped."""
        store = self._stores.pop(generation)
        for later in [held for held in self._stores if held > generation]:
            self._stores.pop(later).close()
        self.generation = generation
        return store

    def close(self) -> None:
        """Drop all of them."""
        for store in self._stores.values():
            store.close()
        self._stores.clear()
