"""L1 and L2, which are rolled back, reset and loaded together."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from entresol.chain.genesis.stored_genesis import identity
from entresol.dev.linked_heads import LinkedHeads
from entresol.dev.revert_plan import LinkedRevertPlan
from entresol.dev.state_file.loading import build_genesis
from entresol.errors import BelowSettledBatch, RollbackTooDeep, RollbackUnknown
from entresol.primitives.batches import SettlementStep

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from entresol.chain.chain import Chain
    from entresol.dev.reverts import Reverts
    from entresol.storage.store import Store

log = logging.getLogger(__name__)


class LinkedChains:
    """The chains of a node: the development L1, if there is one, and the L2.

    If one is rolled back, the other is reverted to where it was at that time, so that batches and deposits match.
    Remembers: which blocks belong together. Persists: nothing of its own. Fails: with the errors of `errors.chain`;
    then nothing has changed.
    """

    def __init__(self, *reverts: Reverts, foreign_l1: bool = False) -> None:
        self.chains = tuple(it.chain for it in reverts)
        self._reverts = dict(zip(self.chains, reverts, strict=True))
        self._foreign_l1 = foreign_l1
        # A chain alone can be rolled back to any of its blocks.
        self._heads = LinkedHeads(self.chains) if len(reverts) > 1 else None

    def reverts_of(self, chain: Chain) -> Reverts:
        """Return what reverts one of the chains."""
        return self._reverts[chain]

    def check_depth(self, chain: Chain, depth: int, *, what: str = "Rollback") -> None:
        """Reject more blocks than the chain has."""
        if depth > chain.number - chain.ledger.first:
            raise RollbackTooDeep(what, chain.number, depth)

    def roll_back(self, chain: Chain, depth: int) -> None:
        """Roll a chain back by so many blocks, and the other to where it was then."""
        self.plan_roll_back(chain, depth).apply()

    def plan_roll_back(self, chain: Chain, depth: int) -> LinkedRevertPlan:
        """Return what rolls a chain back by so many blocks, and the other to where it was then."""
        self.check_depth(chain, depth)
        if depth == 0:
            return LinkedRevertPlan([])
        target = chain.number - depth
        numbers = (target,) if self._heads is None else self._heads.at(chain, target)
        if numbers is None:
            raise RollbackUnknown(target)
        for it, number in zip(self.chains, numbers, strict=True):
            self._check_batches(it, number)
            it.ledger.check_state(number)
        # L1 first: if the process ends in between, it must not have batches that the L2 has not.
        plans = [
            self._reverts[it].plan_roll_back(number)
            for it, number in zip(self.chains, numbers, strict=True)
            if number < it.number
        ]
        return LinkedRevertPlan(plans, lambda: self._on_rolled_back(numbers[0]))

    def reset(self) -> None:
        """Replace all chains by their genesis; nothing is pending then, and no snapshot is left."""
        stores = self.build_reset()
        try:
            self.apply_reset(stores)
        finally:
            close_all(stores)

    def build_reset(self) -> list[Store]:
        """Return a store with the genesis of each chain, for `apply_reset`; any thread may call it."""
        self.check_replaceable()
        stores: list[Store] = []
        for it in self.chains:
            stores.append(build_genesis(it.genesis, identity_of(it), it.ledger.genesis_fields))
            it.ledger.store.prepare_replace(stores[-1])
        return stores

    def apply_reset(self, stores: Sequence[Store]) -> None:
        """Replace all chains by these stores, which the caller closes."""
        self.check_replaceable()
        for chain, store in zip(self.chains, stores, strict=True):
            for entry in list(chain.pool.listing().by_sender()):
                chain.pool.remove(entry.transaction.hash, "the chain was reset")
            self._reverts[chain].replace(store)
        self.on_replaced()

    def on_replaced(self) -> None:
        """Start over with what belongs together, after chains were replaced."""
        if self._heads is not None:
            self._heads.restart()
        self._report("replaced")

    def check_replaceable(self) -> None:
        """Reject to replace a chain that has batches on a foreign L1."""
        for chain in self.chains:
            self._check_batches(chain, chain.ledger.first)

    def _on_rolled_back(self, l1_block: int) -> None:
        # L2 may still have the block that it had when L1 settled its batches.
        for it in self.chains[1:]:
            _follow_l1_revert(it, l1_block)
        self._report("rolled back")

    def _check_batches(self, chain: Chain, number: int) -> None:
        """Reject to revert a batch that a foreign L1 may have: it is not reverted with us."""
        last = chain.batches.last() if self._foreign_l1 else None
        if last is not None and number < last.last_block:
            raise BelowSettledBatch(number, last.number, last.last_block)

    def _report(self, done: str) -> None:
        blocks = [f"chain {it.rules.chain_id} at block {it.number}" for it in self.chains]
        log.info("%s: %s", done, ", ".join(blocks))


def _follow_l1_revert(chain: Chain, block: int) -> None:
    """Drop what L1 did above a block, after it was reverted to that: settled steps, and deposits in the queue."""
    # The deposit watcher enqueues again what L1 still has.
    chain.producer.priority.replace(())
    chain.batches.revert_settlement_above(block)
    chain.set_finality(
        min(chain.finality.safe, chain.batches.last_settled_block(SettlementStep.COMMIT)),
        min(chain.finality.finalized, chain.batches.last_settled_block(SettlementStep.EXECUTE)),
    )


def close_all(stores: Iterable[Store]) -> None:
    """Close stores that nobody uses any more."""
    for it in stores:
        it.close()


def identity_of(chain: Chain) -> bytes:
    """Return the hash that identifies the genesis of a chain in its store."""
    return chain.ledger.store.genesis.identity or identity(chain.genesis)
