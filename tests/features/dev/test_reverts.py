"""Checkpoints of a chain, and reverts to them and to blocks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from entresol.chain.chain import Chain
from entresol.chain.clock import LATEST
from entresol.chain.events import BlockSealed, BlocksReverted
from entresol.chain.finality import BlockTag
from entresol.errors import StoreFailed
from entresol.features.dev.checkpoint import MAX_CHECKPOINTS, CheckpointLog
from entresol.features.dev.reverts import MAX_REPLACED, Reverts
from entresol.features.dev.state_file.loading import build_genesis
from entresol.sequencer.sequencer import InlineSequencer
from entresol.storage.store import Store
from tests.support.chain.dev_chain import ALICE, GENESIS, NOBODY, RULES, balance, transaction


def genesis_store(chain: Chain) -> Store:
    return build_genesis(chain.genesis, chain.identity, chain.ledger.genesis_fields)


def test_a_checkpoint_restores_state_pool_clock_and_confirmations(manual: Chain) -> None:
    InlineSequencer(manual).submit(transaction(0, wei=5).raw)
    manual.set_finality(safe=0)
    reverts = Reverts(manual)
    checkpoint = reverts.checkpoint()
    manual.clock.increase(1_000)
    manual.builder.seal()
    InlineSequencer(manual).submit(transaction(1).raw)
    manual.set_finality(safe=1, finalized=1)
    assert reverts.restore(checkpoint)
    assert manual.number == 0
    assert balance(manual, NOBODY) == 0
    assert manual.resolve(BlockTag.SAFE) == 0
    assert manual.clock.now() == 1_000
    header = manual.builder.seal()
    assert header.timestamp == 1_000
    assert [raw for raw, _ in manual.blocks.record(1).transactions] == [transaction(0, wei=5).raw]


def test_a_checkpoint_is_restored_once_and_drops_the_later_ones(chain: Chain) -> None:
    reverts = Reverts(chain)
    first, second = reverts.checkpoint(), reverts.checkpoint()
    assert reverts.restore(first)
    assert not reverts.restore(first)
    assert not reverts.restore(second)


def test_a_checkpoint_survives_a_revert_that_fails(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    reverts = Reverts(chain)
    checkpoint = reverts.checkpoint()
    chain.builder.seal()

    def fail(_number: int) -> None:
        raise StoreFailed("no space")

    with monkeypatch.context() as patched:
        patched.setattr(chain.ledger.store, "unwind", fail)
        with pytest.raises(StoreFailed):
            reverts.restore(checkpoint)
    assert chain.number == 1
    assert reverts.restore(checkpoint)
    assert chain.number == 0


def test_the_oldest_of_too_many_checkpoints_are_dropped(chain: Chain) -> None:
    reverts = Reverts(chain)
    first, second, *_ = [reverts.checkpoint() for _ in range(MAX_CHECKPOINTS + 1)]
    assert not reverts.restore(first)
    assert reverts.restore(second)


def test_checkpoints_of_too_many_transactions_are_dropped(manual: Chain) -> None:
    manual.add(transaction(0))
    size = manual.pool.checkpoint().size
    assert size > manual.pool.size > 0
    reverts = Reverts(manual, CheckpointLog(2 * size))
    first, second, third = (reverts.checkpoint() for _ in range(3))
    assert reverts.checkpoints.weight == 2 * size
    assert not reverts.restore(first)
    assert reverts.restore(third)
    assert reverts.restore(second)
    assert reverts.checkpoints.weight == 0


def test_a_checkpoint_does_not_keep_the_state_in_memory(chain: Chain) -> None:
    state = chain.ledger.latest
    holders = sys.getrefcount(state)
    reverts = Reverts(chain)
    checkpoint = reverts.checkpoint()
    assert sys.getrefcount(state) == holders
    InlineSequencer(chain).submit(transaction(0).raw)
    assert reverts.restore(checkpoint)
    assert chain.pool.next_nonce(ALICE) == 0


def test_a_restore_comes_after_the_block_that_is_being_written(manual: Chain) -> None:
    reverts = Reverts(manual)
    checkpoint = reverts.checkpoint()
    block = manual.builder.open_block()
    while block.prepare():
        block.execute()
    write = manual.builder.write_open(block)
    assert write is not None
    events = manual.events.subscribe()
    assert reverts.restore(checkpoint)
    sealed, reverted = events.take()[0]
    assert isinstance(sealed, BlockSealed)
    assert (sealed.number, reverted) == (1, BlocksReverted((), 0))
    assert manual.builder.show(write).number == 1
    assert manual.number == 0


def test_checkpoints_of_blocks_that_somebody_else_reverts_are_dropped(chain: Chain) -> None:
    reverts = Reverts(chain)
    created = []
    for _ in range(3):
        chain.builder.seal()
        created.append(reverts.checkpoint())
    chain.history.rewind(2)
    assert [it in reverts.checkpoints for it in created] == [True, True, False]
    chain.builder.seal()
    assert not reverts.restore(created[2])
    assert reverts.restore(created[1])
    assert chain.number == 2


def test_a_chain_is_rolled_back_to_a_block_that_is_later_than_a_clock_can_be_set(
    chain: Chain,
) -> None:
    chain.clock.set_time(LATEST)
    for _ in range(3):
        chain.builder.seal()
    events = chain.events.subscribe()
    Reverts(chain).plan_roll_back(2).apply()
    assert (chain.number, chain.clock.now()) == (2, LATEST + 1)
    assert events.take() == ([BlocksReverted((), 2)], 0)


def test_chains_that_were_replaced_are_held_while_a_checkpoint_needs_them(chain: Chain) -> None:
    reverts = Reverts(chain)
    chain.builder.seal()
    checkpoint = reverts.checkpoint()
    first = genesis_store(chain)
    assert reverts.replace(first, keeps_checkpoints=True)
    assert chain.number == 0
    assert reverts.restore(checkpoint)
    assert chain.number == 1
    assert not first.path.exists()


def test_the_oldest_of_too_many_replaced_chains_goes_with_its_checkpoints(chain: Chain) -> None:
    reverts = Reverts(chain)
    created = []
    for _ in range(MAX_REPLACED + 1):
        created.append(reverts.checkpoint())
        assert reverts.replace(genesis_store(chain), keeps_checkpoints=True)
    assert [it in reverts.checkpoints for it in created] == [False] + [True] * MAX_REPLACED
    reverts.close()


def test_replaced_chains_are_deleted_when_nothing_can_revert_to_them_any_more(chain: Chain) -> None:
    reverts = Reverts(chain)
    reverts.checkpoint()
    replaced = genesis_store(chain)
    reverts.replace(replaced, keeps_checkpoints=True)
    assert replaced.path.exists()
    reverts.close()
    assert not replaced.path.exists()


def chain_in_place(path: Path, *, is_shared: bool) -> Chain:
    """Open a chain whose store cannot change places with another."""
    return Chain.open(None if is_shared else path / "chain", RULES, GENESIS, shared=is_shared)


@pytest.mark.parametrize("is_shared", [False, True], ids=["in a directory", "read by workers"])
@pytest.mark.parametrize("is_copied_before", [False, True])
def test_a_chain_that_is_replaced_in_place_keeps_its_checkpoints(
    tmp_path: Path, *, is_shared: bool, is_copied_before: bool
) -> None:
    chain = chain_in_place(tmp_path, is_shared=is_shared)
    reverts, source = Reverts(chain), genesis_store(chain)
    InlineSequencer(chain).submit(transaction(0, wei=5).raw)
    checkpoint, head = reverts.checkpoint(), chain.head
    copy = reverts.copy_for(source) if is_copied_before else None
    # What comes after the copy is in none, or in another one.
    chain.builder.seal()
    assert not reverts.replace(source, keeps_checkpoints=True, copy=copy)
    source.close()
    chain.builder.seal()
    assert reverts.restore(checkpoint)
    assert (chain.head, balance(chain, NOBODY)) == (head, 5)
    InlineSequencer(chain).submit(transaction(1, wei=5).raw)
    chain.verify()
    reverts.close()
    chain.close()


def test_a_copy_to_which_nothing_was_added_is_held(tmp_path: Path) -> None:
    chain = chain_in_place(tmp_path, is_shared=False)
    reverts, source = Reverts(chain), genesis_store(chain)
    chain.builder.seal()
    checkpoint = reverts.checkpoint()
    copy = reverts.copy_for(source)
    assert copy is not None
    assert chain.ledger.store.has_copy(copy)
    assert not reverts.replace(source, keeps_checkpoints=True, copy=copy)
    source.close()
    plan = reverts.plan_restore(checkpoint)
    assert plan is not None
    plan.prepare()
    plan.apply()
    assert chain.number == 1
    reverts.close()
    chain.close()


def test_a_large_chain_that_is_replaced_in_place_drops_its_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("entresol.storage.store.MAX_COPIED_BYTES", 0)
    chain = chain_in_place(tmp_path, is_shared=False)
    reverts, source = Reverts(chain), genesis_store(chain)
    checkpoint = reverts.checkpoint()
    assert reverts.copy_for(source) is None
    assert not reverts.replace(source, keeps_checkpoints=True)
    source.close()
    assert not reverts.restore(checkpoint)
    chain.close()
