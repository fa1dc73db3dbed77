"""Blocks that are removed or replaced, and what goes along with them."""

from __future__ import annotations

from entresol.chain.chain import Chain
from entresol.chain.edits import BlockSettings
from entresol.chain.finality import BlockTag
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import ETHER, NOBODY, balance, deposit, open_chain, transaction


def test_transactions_of_rewound_blocks_are_pending_again(manual: Chain) -> None:
    first = manual.enqueue(deposit(0))
    InlineSequencer(manual).submit(transaction(0).raw)
    manual.builder.seal()
    InlineSequencer(manual).submit(transaction(1).raw)
    manual.builder.seal()
    manual.history.rewind(0)
    assert manual.number == 0
    manual.builder.seal()
    assert manual.blocks.locate_transaction(first) == (1, 0)
    assert len(manual.blocks.record(1).transactions) == 3


def test_a_revert_to_a_mark_restores_pool_queue_and_build_state(manual: Chain) -> None:
    manual.enqueue(deposit(0))
    manual.add(transaction(0))
    manual.configure(BlockSettings(gas_limit=10**7))
    manual.clock.set_next_timestamp(5_000, 0)
    manual.edit(NOBODY, lambda overlay: overlay.set_balance(NOBODY, ETHER))
    pending = manual.builder.pending_block().header
    mark = manual.history.mark()
    manual.builder.seal()
    manual.configure(BlockSettings())
    manual.set_finality(safe=1)
    assert mark.pool is not None
    pool = manual.pool.restored(mark.pool, manual.ledger.state_after(0), mark.base_fee)
    manual.history.unwind(mark, pool, manual.ledger.reverted_by(mark.number))
    assert manual.resolve(BlockTag.SAFE) == 0
    assert manual.builder.pending_block().header == pending
    assert manual.builder.seal() == pending


def test_exchanged_blocks_have_neither_deposits_nor_edits_nor_settings_of_those_before(
    manual: Chain,
) -> None:
    other = open_chain()
    other.builder.seal()
    head = other.head
    manual.enqueue(deposit(0))
    manual.edit(NOBODY, lambda overlay: overlay.set_balance(NOBODY, ETHER))
    manual.configure(BlockSettings(gas_limit=10**7))
    before = manual.instance_id
    manual.history.exchange(other.ledger.store)
    assert manual.head == head
    assert (balance(manual, NOBODY), manual.edits.exist) == (0, False)
    assert not manual.filler.priority
    assert manual.settings == BlockSettings()
    assert manual.instance_id != before
    other.close()


def test_a_transaction_stays_pending_if_the_exchanged_blocks_allow_it(manual: Chain) -> None:
    other = open_chain()
    InlineSequencer(other).submit(transaction(0, wei=1).raw)
    manual.add(transaction(0))
    manual.add(transaction(0, by=1))
    manual.history.exchange(other.ledger.store)
    assert [it.hash for it in manual.pool.best()] == [transaction(0, by=1).hash]
    other.close()
