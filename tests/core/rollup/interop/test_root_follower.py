"""Roots of L1 are imported once and in order, across reorgs, reverts and restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from entresol.errors import InteropRootsMismatch, LayerOneMismatch
from entresol.l1.layer_one import MAX_REORG_DEPTH
from entresol.primitives.interop_roots import MAX_ROOTS_PER_IMPORT
from entresol.primitives.values import Hash32
from entresol.rollup.batcher import Batcher
from entresol.rollup.batches import SealingPolicy
from entresol.rollup.deposits.deposit_watcher import DepositConfig
from entresol.rollup.interop.root_follower import PERSIST_BLOCKS, RootFollower
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import open_importing
from tests.support.chain.steering import revert
from tests.support.coroutines import completed
from tests.support.ecosystem.roots_layer_one import L1_CHAIN_ID, RootsLayerOne, appended
from tests.support.known import known

OTHER, THIRD = 271, 272


class Scenario:
    """An L1 with three chains, one of them, and what follows the roots."""

    def __init__(self, path: Path | None = None, config: DepositConfig | None = None) -> None:
        self.path, self.config = path, config
        self.chain = open_importing(path)
        self.chain.schedule.seal_on_request()
        self.own = self.chain.rules.chain_id
        self.l1 = RootsLayerOne(self.own, OTHER, THIRD)
        self.follower = self.new_follower()
        self._batches = dict.fromkeys((self.own, OTHER, THIRD), 0)

    def new_follower(self) -> RootFollower:
        return RootFollower(
            *(self.chain, InlineSequencer(self.chain), self.l1.contract(), L1_CHAIN_ID), self.config
        )

    def append(self, *chains: int, salt: int = 0) -> int:
        """Have L1 append the next batch of each of these chains in one block, and return its number."""
        actions = []
        for chain_id in chains:
            self._batches[chain_id] += 1
            actions.append(appended(chain_id, self._batches[chain_id], salt))
        return self.l1.mine(*actions)

    def reorg(self, last: int) -> None:
        self.l1.reorg(last)
        for chain_id, leaves in self.l1.books.batches.items():
            self._batches[chain_id] = len(leaves)

    async def follow(self) -> None:
        while await self.follower.step():
            pass

    def queued(self) -> list[int]:
        """Return the L1 blocks whose roots are queued."""
        return [it.block_number for it in self.chain.filler.roots.first]

    def root_at(self, number: int) -> Hash32:
        """Return the root that the chain has imported."""
        return self.follower.importer.imported.get(number)

    async def imported(self) -> list[int]:
        """Follow L1, seal, and return the L1 blocks whose roots are imported."""
        await self.follow()
        while len(self.chain.filler.roots):
            self.chain.builder.seal()
        found = [number for number in range(self.l1.number + 1) if any(self.root_at(number))]
        for number in found:
            assert self.root_at(number) == self.l1.blocks[number].books.root()
        return found

    def restart(self) -> None:
        self.chain.close()
        self.chain = open_importing(self.path)
        self.chain.schedule.seal_on_request()
        self.follower = self.new_follower()


@pytest.fixture
def scenario() -> Iterator[Scenario]:
    made = Scenario()
    yield made
    made.chain.close()


async def test_roots_are_imported_oldest_first_one_for_each_block_in_which_another_chain_has_appended(
    scenario: Scenario,
) -> None:
    scenario.append(OTHER)
    scenario.append(scenario.own)
    scenario.append(scenario.own, THIRD, OTHER)
    await scenario.follow()
    assert scenario.queued() == [1, 3]
    assert await scenario.imported() == [1, 3]
    assert scenario.chain.number == 1


async def test_what_is_imported_is_not_queued_again(scenario: Scenario) -> None:
    scenario.append(OTHER)
    assert await scenario.imported() == [1]
    scenario.l1.mine()
    assert await scenario.imported() == [1]
    scenario.append(THIRD)
    await scenario.follow()
    assert scenario.queued() == [3]
    importer = scenario.follower.importer
    assert await scenario.imported() == [1, 3]
    await scenario.follow()
    assert (importer.imported_block, importer.imported_count) == (3, 2)


async def test_idle_chains_make_no_block_after_the_last_batch() -> None:
    """Each chain settles the blocks that it makes itself, and imports the roots of the others."""
    scenario = Scenario()
    with closing(scenario.chain):
        # Batches with nothing but imports are not sealed, so that an import makes no root.
        scenario.append(OTHER, THIRD)
        await scenario.imported()
        blocks, requests = scenario.chain.number, len(scenario.l1.requests)
        for _ in range(60):
            await scenario.follow()
        assert scenario.chain.number == blocks
        # Without a new block of L1 nothing but its head and the last block is asked for.
        assert set(scenario.l1.requests[requests:]) == {"block", "block_number"}


async def test_a_thousand_roots_are_imported_in_ten_blocks(scenario: Scenario) -> None:
    for _ in range(1_050):
        scenario.append(OTHER)
    await scenario.follow()
    assert len(scenario.chain.filler.roots) == 1_000
    assert len(scenario.queued()) == MAX_ROOTS_PER_IMPORT
    while len(scenario.chain.filler.roots):
        scenario.chain.builder.seal()
    assert scenario.chain.number == 10
    assert await scenario.imported() == list(range(1, 1_051))


async def test_confirmations_are_waited_for() -> None:
    scenario = Scenario(config=DepositConfig(confirmations=2))
    with closing(scenario.chain):
        scenario.append(OTHER)
        scenario.l1.mine()
        assert await scenario.imported() == []
        scenario.l1.mine()
        assert await scenario.imported() == [1]


async def test_a_restart_reads_no_block_again(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path / "chain")
    for _ in range(3):
        scenario.append(OTHER)
    assert await scenario.imported() == [1, 2, 3]
    scenario.append(scenario.own)
    await scenario.follow()
    path = scenario.chain.batches.roots.path(1)
    scenario.restart()
    scenario.l1.requests.clear()
    scenario.append(THIRD)
    assert await scenario.imported() == [1, 2, 3, 5]
    assert scenario.l1.requests.count("logs") == 1
    assert scenario.chain.batches.roots.path(1) == path
    scenario.chain.close()


async def test_roots_that_were_queued_at_a_crash_are_queued_again(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path / "chain")
    for _ in range(3):
        scenario.append(OTHER)
    await scenario.follow()
    scenario.restart()
    assert not scenario.queued()
    assert await scenario.imported() == [1, 2, 3]
    assert scenario.chain.number == 1
    scenario.chain.close()


async def test_a_long_time_without_roots_is_not_read_again_after_a_restart(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path / "chain")
    await scenario.follow()
    for _ in range(PERSIST_BLOCKS):
        scenario.l1.mine()
    await scenario.follow()
    cursor = known(scenario.chain.batches.roots.cursor())
    assert cursor.block == PERSIST_BLOCKS
    scenario.chain.close()


# Reorgs of L1


async def test_queued_roots_of_blocks_that_a_reorg_removed_are_dropped(scenario: Scenario) -> None:
    scenario.append(OTHER)
    scenario.append(OTHER)
    await scenario.follow()
    assert scenario.queued() == [1, 2]
    scenario.reorg(1)
    scenario.l1.mine()
    scenario.append(THIRD)
    await scenario.follow()
    assert scenario.queued() == [1, 3]
    assert await scenario.imported() == [1, 3]


async def test_paths_of_blocks_that_a_reorg_removed_are_dropped(scenario: Scenario) -> None:
    roots = scenario.chain.batches.roots
    scenario.append(scenario.own)
    scenario.append(scenario.own)
    await scenario.follow()
    first = roots.path(1)
    assert roots.path(2) is not None
    scenario.reorg(1)
    await scenario.follow()
    assert roots.path(2) is None
    assert roots.path(1) == first
    scenario.append(OTHER)
    scenario.append(scenario.own)
    await scenario.follow()
    second = known(roots.path(2))
    assert second.l1_block == 3


async def test_a_reorg_that_keeps_the_roots_that_were_imported_changes_nothing(
    scenario: Scenario,
) -> None:
    scenario.append(OTHER)
    scenario.append(OTHER)
    assert await scenario.imported() == [1, 2]
    scenario.reorg(0)
    scenario.append(OTHER)
    # The second is not there again yet.
    assert await scenario.imported() == [1]
    scenario.append(OTHER)
    scenario.append(OTHER)
    assert await scenario.imported() == [1, 2, 3]


@pytest.mark.parametrize("is_restarted", [False, True])
async def test_a_reorg_that_replaces_a_root_that_was_imported_stops_the_import_and_tells_both_roots(
    tmp_path: Path, *, is_restarted: bool
) -> None:
    scenario = Scenario(tmp_path / "chain")
    scenario.append(OTHER)
    assert await scenario.imported() == [1]
    scenario.chain.builder.seal()
    scenario.append(OTHER)
    assert await scenario.imported() == [1, 2]
    was = scenario.root_at(2)
    scenario.reorg(1)
    scenario.append(OTHER, salt=1)
    if is_restarted:
        scenario.restart()
    for _ in range(3):
        with pytest.raises(LayerOneMismatch, match="a reorg replaced confirmed blocks") as raised:
            await scenario.follow()
    assert str(was) in str(raised.value)
    assert str(scenario.l1.books.root()) in str(raised.value)
    importer = scenario.follower.importer
    first: int | None = importer.first_contradicted_block
    assert first == 3
    scenario.append(THIRD)
    with pytest.raises(LayerOneMismatch, match="a reorg replaced confirmed blocks"):
        await scenario.follow()
    assert not scenario.queued()
    # Without the block that has it there is no contradiction any more.
    scenario.chain.history.rewind(2)
    assert await scenario.imported() == [1, 2, 3]
    first = importer.first_contradicted_block
    assert first is None
    scenario.chain.close()


async def test_a_root_that_was_imported_and_that_l1_no_longer_has_is_told(
    scenario: Scenario,
) -> None:
    scenario.append(OTHER)
    assert await scenario.imported() == [1]
    scenario.reorg(0)
    scenario.l1.mine()
    with pytest.raises(LayerOneMismatch, match="L1 block 1, which has 0x0000"):
        await scenario.follow()
    assert scenario.follower.importer.first_contradicted_block == 1


async def test_a_root_that_appears_before_those_that_were_imported_is_told(
    scenario: Scenario,
) -> None:
    scenario.l1.mine()
    scenario.append(OTHER)
    assert await scenario.imported() == [2]
    scenario.reorg(0)
    scenario.append(THIRD)
    with pytest.raises(LayerOneMismatch, match="L1 block 1"):
        await scenario.follow()
    assert scenario.follower.importer.first_contradicted_block == 1


async def test_a_reorg_back_to_what_was_imported_ends_the_contradiction(scenario: Scenario) -> None:
    scenario.append(OTHER)
    assert await scenario.imported() == [1]
    scenario.reorg(0)
    scenario.append(THIRD)
    with pytest.raises(LayerOneMismatch, match="a reorg replaced confirmed blocks"):
        await scenario.follow()
    scenario.reorg(0)
    scenario.append(OTHER)
    assert await scenario.imported() == [1]


async def test_a_reorg_deeper_than_what_is_remembered_is_followed_from_the_beginning(
    scenario: Scenario,
) -> None:
    for _ in range(MAX_REORG_DEPTH + 20):
        scenario.append(scenario.own)
        await scenario.follow()
    scenario.reorg(3)
    scenario.append(OTHER)
    assert await scenario.imported() == [4]
    assert scenario.chain.batches.roots.path(5) is None
    assert scenario.chain.batches.roots.path(3) is not None


async def test_a_lie_about_what_l1_has_appended_does_not_last(scenario: Scenario) -> None:
    scenario.append(OTHER)
    scenario.append(THIRD)
    scenario.l1.lie = lambda logs: [log for log in logs if log.block_number != 1]
    scenario.l1.aggregated = None
    for _ in range(5):
        with pytest.raises(InteropRootsMismatch):
            await scenario.follow()
    scenario.l1.lie = None
    assert await scenario.imported() == [1, 2]


async def test_a_node_that_lags_does_not_cost_what_is_known(scenario: Scenario) -> None:
    scenario.append(scenario.own)
    await scenario.follow()
    scenario.l1.mine()
    scenario.l1.states = 0
    for _ in range(9):
        with pytest.raises(LayerOneMismatch, match="no state of block 2"):
            await scenario.follow()
    assert scenario.chain.batches.roots.path(1) is not None


# Reverts of the chain


async def test_roots_of_blocks_that_were_reverted_are_imported_again(scenario: Scenario) -> None:
    for _ in range(3):
        scenario.append(OTHER)
        await scenario.imported()
    scenario.chain.history.rewind(1)
    assert await scenario.imported() == [1, 2, 3]
    assert scenario.chain.number == 2


async def test_a_revert_of_both_layers_forgets_what_came_after(scenario: Scenario) -> None:
    roots = scenario.chain.batches.roots
    scenario.append(OTHER)
    await scenario.imported()
    mark = scenario.chain.history.mark(with_batches=True)
    scenario.append(scenario.own, OTHER)
    scenario.append(scenario.own)
    assert await scenario.imported() == [1, 2]
    assert roots.path(1) is not None
    scenario.reorg(1)
    revert(scenario.chain, mark)
    # No proof of what is gone, not even before L1 is read again.
    assert roots.path(1) is None
    assert await scenario.imported() == [1]
    scenario.l1.mine()
    scenario.append(THIRD)
    assert await scenario.imported() == [1, 3]


async def test_a_batch_for_which_l1_has_another_root_is_told(scenario: Scenario) -> None:
    batcher = Batcher(scenario.chain.blocks, scenario.chain.batches, SealingPolicy(max_age=1e9))
    scenario.chain.builder.seal()
    completed(batcher.seal(0.0))
    scenario.append(scenario.own)
    with pytest.raises(LayerOneMismatch, match="for batch 1, but this chain has"):
        await scenario.follow()


async def test_it_waits_for_blocks_of_l1_and_reports_what_is_wrong(scenario: Scenario) -> None:
    scenario.chain.schedule.seal_at_once()
    running = asyncio.create_task(scenario.follower.run())
    scenario.append(OTHER)
    await _until(lambda: any(scenario.root_at(1)))
    scenario.reorg(0)
    scenario.append(THIRD)
    await _until(lambda: "has imported the root" in (scenario.follower.problem or ""))
    running.cancel()


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - the tasks beside this one take turns
            await asyncio.sleep(0)
