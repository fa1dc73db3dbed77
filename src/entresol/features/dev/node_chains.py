"""L1 and L2s, which are rolled back, reset and loaded together."""

from __future__ import annotations

import logging
from bisect import bisect_right
from operator import gt, itemgetter
from typing import TYPE_CHECKING, Final

from entresol.chain.events import BLOCK_EVENTS, BlocksReverted
from entresol.chain.logs import find_logs
from entresol.errors import BelowSettledBatch, InvalidParams, RollbackRejected
from entresol.features.dev.checkpoint import NodeRevertPlan
from entresol.features.dev.state_file.loading import build_genesis
from entresol.primitives.batches import SettlementStep
from entresol.primitives.interop_roots import ROOT_ADDED, ROOT_STORAGE
from entresol.storage.log_index import LogQuery

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from entresol.chain.chain import Chain
    from entresol.chain.events import Event
    from entresol.features.dev.reverts import Reverts
    from entresol.primitives.values import Address
    from entresol.storage.store import Store


MAX_CUTS: Final = 1_000_000
"""How many are held, in about 100 MB; the first half is dropped then."""


IMPORTS: Final = LogQuery(
    addresses=frozenset({bytes(ROOT_STORAGE)}), topics=(frozenset({ROOT_ADDED}),)
)


log = logging.getLogger(__name__)


class NodeHeads:
    """The numbers that the heads of several chains have had together, oldest first.

    What both chains once were together is consistent: L1 has no batch of a block that L2 lacks, and L2 no deposit that
    L1 lacks.
    """

    def __init__(self, chains: Sequence[Chain], max_cuts: int = MAX_CUTS) -> None:
        self._chains = list(chains)
        self._max_cuts = max_cuts
        self._cuts: list[tuple[int, ...]] = []
        self.restart()
        for chain in chains:
            chain.events.listen(self._on_event, *BLOCK_EVENTS)

    def add(self, chain: Chain) -> None:
        """Have one more chain, and forget where the others were before it."""
        self._chains.append(chain)
        chain.events.listen(self._on_event, *BLOCK_EVENTS)
        self.restart()

    def restart(self) -> None:
        """Forget everything but where the chains are now."""
        self._cuts = [self._now()]

    def at(self, chain: Chain, number: int) -> tuple[int, ...] | None:
        """Return the last numbers of all heads while that of `chain` was `number`; None if that is not known."""
        index = self._chains.index(chain)
        after = self._count_until(index, number)
        found = self._cuts[after - 1] if after else None
        return found if found is not None and found[index] == number else None

    def _now(self) -> tuple[int, ...]:
        return tuple(chain.number for chain in self._chains)

    def _count_until(self, index: int, number: int) -> int:
        return bisect_right(self._cuts, number, key=itemgetter(index))

    def _on_event(self, event: Event) -> None:
        if isinstance(event, BlocksReverted) and event.head < 0:
            # Another chain: nothing is known of its earlier blocks.
            self.restart()
            return
        now = self._now()
        cuts = self._cuts
        if any(map(gt, cuts[-1], now)):
            # After a revert; both numbers of each cut are at least those of the one before.
            del cuts[min(self._count_until(index, number) for index, number in enumerate(now)) :]
        if not cuts or cuts[-1] != now:
            cuts.append(now)
        if len(cuts) > self._max_cuts:
            del cuts[: self._max_cuts // 2]


class NodeChains:
    """The chains of a node: the development L1, if there is one, and the L2s.

    If one of a pair is rolled back, the other is reverted to where it was at that time, so that batches and deposits
    match. Of several L2s only those are reverted that have to be: L1 if it may have a batch of blocks that are gone,
    and then each L2 to before its first deposit or root since. Several L2s and their L1 have one time. Fails: with the
    errors of `errors.chain`; then nothing has changed.
    """

    def __init__(
        self, *reverts: Reverts, foreign_l1: bool = False, operators: Collection[Address] = ()
    ) -> None:
        """Take L1 first, unless it is a foreign one; `operators` settle there."""
        self.chains = tuple(revert.chain for revert in reverts)
        self._reverts = dict(zip(self.chains, reverts, strict=True))
        self._foreign_l1 = foreign_l1
        self._operators = frozenset(operators)
        # A chain without an L1 beside it can be rolled back to any of its blocks.
        has_l1 = len(reverts) > 1 and not foreign_l1
        self._layer_one = self.chains[0] if has_l1 else None
        self._layer_twos = self.chains[1:] if has_l1 else self.chains
        self._heads = NodeHeads(self.chains) if has_l1 else None
        if len(self._layer_twos) > 1:
            _share_time(self.chains)
        self._added: list[Chain] = []
        self.uses = [chain.use for chain in self.chains]
        """The use of each of the chains."""

    def add(self, reverts: Reverts) -> None:
        """Have one more L2, which the genesis of its L1 does not know, with the time of that."""
        assert self._heads is not None
        chain = reverts.chain
        self.chains = (*self.chains, chain)
        self._layer_twos = (*self._layer_twos, chain)
        self._reverts[chain] = reverts
        self._added.append(chain)
        self.uses.append(chain.use)
        self._heads.add(chain)
        chain.clock.follow(self.chains[0].clock.state.offset)
        _share_time(self.chains)

    def is_added(self, chain: Chain) -> bool:
        """Return whether the genesis of the L1 does not know a chain."""
        return chain in self._added

    def reverts_of(self, chain: Chain) -> Reverts:
        """Return what reverts one of the chains."""
        return self._reverts[chain]

    def check_depth(self, chain: Chain, depth: int, *, what: str = "Rollback") -> None:
        """Reject more blocks than the chain has."""
        if depth > chain.number - chain.ledger.first:
            begins = (
                f"; the chain begins with block {chain.ledger.first}" if chain.ledger.first else ""
            )
            raise InvalidParams(
                f"{what} depth must not exceed current chain height: current height {chain.number}, "
                f"depth {depth}{begins}"
            )

    def plan_roll_back(self, chain: Chain, depth: int) -> NodeRevertPlan:
        """Return what rolls a chain back by so many blocks, and others as far as they have to be."""
        self.check_depth(chain, depth)
        if depth == 0:
            return NodeRevertPlan([])
        numbers = self._numbers_at(chain, chain.number - depth)
        for reverted, number in numbers.items():
            self._check_batches(reverted, number)
            reverted.ledger.check_state(number)
        # L1 first: if the process ends in between, it must not have batches that the L2 has not.
        plans = [
            self._reverts[reverted].plan_roll_back(number)
            for reverted, number in numbers.items()
            if number < reverted.number
        ]
        return NodeRevertPlan(plans, lambda: self._on_rolled_back(numbers))

    def _numbers_at(self, chain: Chain, target: int) -> dict[Chain, int]:
        """Return to which blocks chains are reverted, in order, if one of them is to a block."""
        if self._heads is None:
            return {chain: target}
        is_one_of_several = len(self._layer_twos) > 1 and chain is not self._layer_one
        last = chain.batches.last() if is_one_of_several else None
        if is_one_of_several and (last is None or last.last_block <= target):
            # L1 has nothing of the blocks that go, and whatever they had of it is still there.
            return {chain: target}
        found = self._heads.at(chain, target)
        if found is None:
            raise RollbackRejected(
                f"block {target} was sealed before the node started, a state was loaded or a chain was added, "
                "so it is not known where the "
                "other layer was then; take a snapshot by evm_snapshot to return to it"
            )
        numbers = dict(zip(self.chains, found, strict=True))
        if is_one_of_several:
            for layer_two in self._layer_twos:
                if layer_two is not chain:
                    numbers[layer_two] = _before_next_of_l1(layer_two, numbers[layer_two])
        return numbers

    def reset(self) -> None:
        """Replace all chains by their genesis; nothing is pending then, and no snapshot is left."""
        stores = self.build_reset()
        try:
            self.apply_reset(stores)
        finally:
            close_all(stores)

    def build_reset(self) -> list[Store]:
        """Return a store with the genesis of each chain, for `apply_reset`; any thread may call it."""
        self._check_resettable()
        stores: list[Store] = []
        for chain in self.chains:
            stores.append(new_genesis(chain))
            chain.ledger.store.prepare_replace(stores[-1])
        return stores

    def apply_reset(self, stores: Sequence[Store]) -> None:
        """Replace all chains by these stores, which the caller closes."""
        self._check_resettable()
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

    def _check_resettable(self) -> None:
        """Reject to replace chains by their genesis if that of the L1 does not know all of them."""
        self.check_replaceable()
        if self._added:
            raise RollbackRejected(
                f"chain {self._added[0].rules.chain_id} was added to the node, and the genesis of its L1 does "
                "not know it: revert to a snapshot "
                "that was taken after it, or start the node again"
            )

    def _on_rolled_back(self, numbers: Mapping[Chain, int]) -> None:
        layer_one = self._layer_one
        if layer_one is not None:
            self._drop_settlements(layer_one)
            # An L2 may still have the block that it had when L1 settled its batches.
            for chain in self._layer_twos if layer_one in numbers else numbers:
                _follow_l1_revert(chain, layer_one.number)
        self._report("rolled back")

    def _drop_settlements(self, layer_one: Chain) -> None:
        """Drop what operators have sent and no block has: it may be a batch that is gone; the settlers send the others again."""
        for entry in list(layer_one.pool.listing().by_sender()):
            if entry.transaction.sender in self._operators:
                layer_one.pool.remove(entry.transaction.hash, "the chain was rolled back")

    def _check_batches(self, chain: Chain, number: int) -> None:
        """Reject to revert a batch that a foreign L1 may have: it is not reverted with us."""
        last = chain.batches.last() if self._foreign_l1 else None
        if last is not None and number < last.last_block:
            raise BelowSettledBatch(number, last.number, last.last_block)

    def _report(self, done: str) -> None:
        blocks = [f"chain {chain.rules.chain_id} at block {chain.number}" for chain in self.chains]
        log.info("%s: %s", done, ", ".join(blocks))


def _share_time(chains: Sequence[Chain]) -> None:
    """Let the time that is set for one of several chains be that of all: what is sent between them has one order."""
    for chain in chains:
        chain.clock.move_with(*(other.clock for other in chains if other is not chain))


def _before_next_of_l1(chain: Chain, number: int) -> int:
    """Return the last block of an L2 before the next one above `number` that has a deposit or a root of L1."""
    return min(_before_next_deposit(chain, number), _before_next_import(chain, number))


def _before_next_import(chain: Chain, number: int) -> int:
    found = next(find_logs(chain.blocks, IMPORTS, number + 1, chain.number), None)
    return chain.number if found is None else found.block_number - 1


def _before_next_deposit(chain: Chain, number: int) -> int:
    blocks = chain.blocks

    def block_of(priority_id: int) -> int:
        location = blocks.locate_priority(priority_id)
        assert location is not None
        return location.block_number

    count = blocks.next_priority_id()
    found = bisect_right(range(count), number, key=block_of)
    return chain.number if found == count else block_of(found) - 1


def _follow_l1_revert(chain: Chain, block: int) -> None:
    """Drop what L1 did above a block, after it was reverted to that: settled steps, deposits and roots in the queues."""
    # The deposit watcher and the importer enqueue again what L1 still has.
    chain.filler.priority.replace(())
    chain.filler.roots.replace()
    chain.batches.revert_settlement_above(block)
    chain.batches.roots.drop_above(block)
    chain.set_finality(
        min(chain.finality.safe, chain.batches.last_settled_block(SettlementStep.COMMIT)),
        min(chain.finality.finalized, chain.batches.last_settled_block(SettlementStep.EXECUTE)),
    )


def close_all(stores: Iterable[Store]) -> None:
    """Close stores that nobody uses any more."""
    for store in stores:
        store.close()


def new_genesis(chain: Chain) -> Store:
    """Return a store with the genesis of a chain alone."""
    ledger = chain.ledger
    rules = ledger.store.rules.current
    return build_genesis(chain.genesis, chain.identity, ledger.genesis_fields, rules)
