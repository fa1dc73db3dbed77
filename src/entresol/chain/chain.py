"""One chain: its sealed blocks, its mempool and its events."""

from __future__ import annotations

import secrets
from functools import cached_property, partial
from typing import TYPE_CHECKING

from entresol.chain.accepting_chain import AcceptingChain
from entresol.chain.block_settings import BlockSettings
from entresol.chain.dev.checkpoint import Checkpoint
from entresol.chain.dev.replaced_stores import ReplacedStores
from entresol.chain.dev.revert_plan import ReturnPlan, RevertPlan
from entresol.chain.events import BlockSealed, BlocksReverted
from entresol.chain.finality import Finality
from entresol.execution.state_edits import apply_changes
from entresol.primitives.batches import SettlementStep
from entresol.primitives.transactions import PriorityTransaction, with_sidecar
from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from entresol._native import Overlay
    from entresol.chain.ledger import RevertedBlocks
    from entresol.chain.mempool import Mempool
    from entresol.primitives.records import StoredChange
    from entresol.storage.store import Store


class Chain(AcceptingChain):
    """A chain of either layer, which its rules define, and which can be reverted.

    Remembers: what `AcceptingChain` does. Persists: sealed blocks, through the ledger. Assumes: one
    thread writes; any thread may read sealed blocks. Fails: an error leaves the chain unchanged.
    """

    @cached_property
    def _replaced(self) -> ReplacedStores:
        return ReplacedStores()

    def checkpoint(self, *, with_settlement: bool = False) -> int:
        """Create a checkpoint and return its id; the oldest is dropped if there are too many.

        `with_settlement` says that it is restored with that of the L1: batches that are sealed or settled after it are
        not any more then.
        """
        self.flush()
        return self.checkpoints.add(
            Checkpoint(
                number=self.ledger.head.number,
                pool=self.pool.checkpoint(),
                priority=tuple(self.producer.priority),
                clock=self.clock.state,
                settings=self.ledger.settings,
                finality=self.finality,
                batches=self.batches.mark() if with_settlement else None,
                edited=self._edits.checkpoint(),
                base_fee=self.pool.base_fee,
                generation=self._replaced.generation,
            )
        )

    def restore(self, checkpoint: int) -> bool:
        """Revert the chain to a checkpoint, which is dropped with all later ones."""
        plan = self.plan_restore(checkpoint)
        if plan is not None:
            plan.apply()
        return plan is not None

    def plan_restore(self, checkpoint: int) -> RevertPlan | ReturnPlan | None:
        """Return what reverts the chain to a checkpoint; None if there is no such."""
        self.flush()
        was = self.checkpoints.get(checkpoint)
        if was is None:
            return None
        if was.generation != self._replaced.generation:
            return ReturnPlan(self, checkpoint, partial(self._return_to, checkpoint, was))
        return self._plan_restore(checkpoint, was)

    def _return_to(self, checkpoint: int, was: Checkpoint, reverted: RevertedBlocks) -> RevertPlan:
        """Replace the chain by one that a state file has replaced, and return what reverts that to a checkpoint."""
        store = self._replaced.take(was.generation)
        try:
            self._exchange(store, reverted)
        finally:
            store.close()
        return self._plan_restore(checkpoint, was)

    def _plan_restore(self, checkpoint: int, was: Checkpoint) -> RevertPlan:

        def pool() -> Mempool:
            state = self.ledger.state_after(was.number) if was.edited is None else was.edited
            return self.pool.restored(was.pool, state, was.base_fee)

        def finish(plan: RevertPlan) -> None:
            self._unwind(plan, was.edited)
            self.checkpoints.take(checkpoint)
            if plan.pool is None:
                self.pool.clear(self.ledger.latest if was.edited is None else was.edited)
            self.pool.restore_penalties(was.pool, was.number)
            self.producer.priority.replace(was.priority)
            self.clock.state = was.clock
            self.configure(was.settings)
            self.finality = was.finality
            if was.batches is not None:
                self.batches.revert_to(was.batches)

        pooled = len(was.pool.entries)
        # A new pool takes longer than everything else of a revert of a few empty blocks.
        restore_pool = pool if pooled or self.pool else None
        return RevertPlan(self, was.number, restore_pool, finish, pooled=pooled)

    def roll_back(self, number: int) -> None:
        """Revert to block `number` and its time; the transactions of the reverted blocks are gone."""
        self.plan_roll_back(number).apply()

    def plan_roll_back(self, number: int) -> RevertPlan:
        """Return what reverts the chain to block `number` and its time."""
        self.flush()
        state, pooled = self.ledger.state_after(number), self.pool.checkpoint()
        chosen = self.settings.base_fee
        base_fee = self.rules.fees.next(self.ledger.header(number)) if chosen is None else chosen

        def pool() -> Mempool:
            restored = self.pool.restored(pooled, state, base_fee)
            restored.reset(state, base_fee)
            return restored

        def finish(plan: RevertPlan) -> None:
            self._unwind(plan, None)
            self.checkpoints.drop_above(number, self._replaced.generation)
            self.finality = self.finality.at_most(number)
            # The deposit watcher enqueues again what L1 still has.
            self.producer.priority.replace(())
            self.pool.set_base_fees(self.next_base_fee(), self.next_blob_base_fee())
            self.clock.set_time(self.head.timestamp)

        return RevertPlan(
            self, number, pool, finish, pooled=len(pooled.entries), version=self.pool.version
        )

    def follow_l1_revert(self, block: int) -> None:
        """Drop what L1 did above a block, after it was reverted to that: settled steps, and deposits in the queue."""
        # The deposit watcher enqueues again what L1 still has.
        self.producer.priority.replace(())
        self.batches.revert_settlement_above(block)
        self.set_finality(
            min(self.finality.safe, self.batches.last_settled_block(SettlementStep.COMMIT)),
            min(self.finality.finalized, self.batches.last_settled_block(SettlementStep.EXECUTE)),
        )

    def rewind(self, number: int) -> None:
        """Revert to block `number`; the transactions of the reverted blocks are pending again."""
        self.flush()
        reverted = self.ledger.reverted_by(number)
        self.ledger.unwind(number)
        self._edits.restore(None)
        self.checkpoints.drop_above(number, self._replaced.generation)
        self.finality = self.finality.at_most(number)
        transactions = [it for record in reversed(reverted.records) for it in record.decoded()]
        from_l1 = [it for it in transactions if isinstance(it.payload, PriorityTransaction)]
        self.producer.priority.push_front(from_l1)
        others = [
            with_sidecar(it, self.sidecars.get(it.hash))
            for it in transactions
            if not isinstance(it.payload, PriorityTransaction)
        ]
        self.sidecars.drop_above(number)
        self.pool.blob_base_fee = self.next_blob_base_fee()
        self.pool.reset(self.ledger.latest, self.next_base_fee(), reverted=others)
        self.events.publish(BlocksReverted(reverted.records, self.number, reverted.size))

    def drop_pending(self) -> None:
        """Drop every transaction that is in no block."""
        self.producer.priority.replace(())
        self.pool.clear(self.latest)

    def replace(
        self,
        source: Store,
        edits: Sequence[StoredChange] = (),
        codes: Iterable[bytes] = (),
        reverted: RevertedBlocks | None = None,
        *,
        keeps_checkpoints: bool = False,
    ) -> bool:
        """Replace all blocks by those of another store, and the edits; nothing is pending then.

        `reverted` are the blocks so far, if they were read already. With `keeps_checkpoints`, the chain can revert to
        them if both stores are temporary; return whether `source` is the chain's for that.
        """
        has_checkpoints = len(self.checkpoints) > 0
        is_exchanged = self._exchange(source, reverted, edits, codes)
        if keeps_checkpoints and has_checkpoints and is_exchanged:
            dropped = self._replaced.add(source)
            if dropped is not None:
                self.checkpoints.drop_above(-1, dropped)
            return True
        self.checkpoints.clear()
        self._replaced.close()
        return False

    def close(self) -> None:
        """Close the store, and those of chains that were replaced."""
        self._replaced.close()
        super().close()

    def _exchange(
        self,
        source: Store,
        reverted: RevertedBlocks | None,
        edits: Sequence[StoredChange] = (),
        codes: Iterable[bytes] = (),
    ) -> bool:
        """Replace all blocks, and what follows from them; return whether `source` has the blocks so far now."""
        self.flush()
        if reverted is None or reverted.head != self.ledger.head_hash:
            reverted = self.ledger.reverted_by(-1)
        is_exchanged = self.ledger.replace(source)
        self._edits.restore(None)
        if edits:
            change = partial(apply_changes, changes=edits, codes=codes)
            self._edits.apply(self.ledger.latest, change, len(edits))
        self.sidecars.drop_above(-1)
        self.finality = Finality()
        self.instance_id = Hash32(secrets.token_bytes(Hash32.size))
        self.configure(BlockSettings())
        self.producer.priority.replace(())
        self.pool.reset(self.latest, self.next_base_fee())
        self.clock.set_time(max(self.head.timestamp, self.clock.now()))
        self.events.publish(BlocksReverted(reverted.records, -1, reverted.size))
        self.events.publish(BlockSealed(self.number, self.ledger.head_hash, self.head, {}))
        return is_exchanged

    def _unwind(self, plan: RevertPlan, edited: Overlay | None) -> None:
        self.ledger.unwind(plan.number)
        self.sidecars.drop_above(plan.number)
        self._edits.restore(edited)
        if plan.pool is not None:
            self.pool.adopt(plan.pool)
