"""What is in the next block, pending or sealed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from entresol.chain.chain import Chain
from entresol.chain.edits import BlockSettings
from entresol.chain.events import BlockSealed
from entresol.chain.history import ChainMark
from entresol.chain.ledger import RevertedBlocks
from entresol.chain.sealing.block_builder import BlockWrite
from entresol.errors import StoreFull
from entresol.primitives.l2_to_l1_logs import L2ToL1Log
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import (
    ALICE,
    ETHER,
    NOBODY,
    balance,
    deposit,
    open_chain,
    transaction,
)
from tests.support.polling import PATIENCE_SECONDS


def test_priority_transactions_come_before_all_others(manual: Chain) -> None:
    InlineSequencer(manual).submit(transaction(0, tip=10).raw)
    first = manual.enqueue(deposit(0))
    second = manual.enqueue(deposit(1))
    manual.builder.seal()
    locations = [manual.blocks.locate_transaction(sent) for sent in (first, second)]
    assert locations == [(1, 0), (1, 1)]
    assert not manual.filler.priority


@pytest.mark.parametrize("gas_limit", [30_000_001, 72_000_000])
def test_the_gas_limit_of_a_block_covers_a_priority_transaction(
    manual: Chain, gas_limit: int
) -> None:
    # It mints less than it pays, so it cannot start, and uses all of its gas.
    manual.enqueue(replace(deposit(0, gas_limit=gas_limit), to_mint=0))
    manual.enqueue(deposit(1))
    header = manual.builder.seal()
    assert header.gas_used == header.gas_limit == gas_limit
    assert manual.builder.seal().gas_limit == manual.rules.gas_limit
    manual.verify()


@pytest.mark.parametrize("gas_limit", [90_000_000, 2**63 - 1, 2**64, 2**256 - 1])
def test_a_priority_transaction_with_more_gas_than_any_l1_accepts_fails_within_a_bound(
    manual: Chain, gas_limit: int
) -> None:
    # It loops until its gas is used up, and L1 says that all of it is paid for.
    manual.edit(NOBODY, lambda overlay: overlay.set_code(NOBODY, bytes.fromhex("5b5f56")))
    endless = replace(deposit(0), to=NOBODY, gas_limit=gas_limit, max_fee_per_gas=0)
    sent = manual.enqueue(endless)
    manual.enqueue(deposit(1))
    header = manual.builder.seal()
    assert header.gas_used == header.gas_limit < 81_000_000
    (failed,) = manual.blocks.record(1).results
    assert not failed.succeeded
    status = L2ToL1Log.of_status(0, sent, succeeded=False)
    assert L2ToL1Log.unpack(failed.l2_to_l1_logs[0]) == status
    assert manual.builder.seal().gas_limit == manual.rules.gas_limit
    assert not manual.filler.priority
    manual.verify()


def unwind(stored_chain: Chain) -> None:
    mark = ChainMark(
        number=1,
        clock=stored_chain.clock.state,
        settings=stored_chain.settings,
        finality=stored_chain.finality,
        base_fee=stored_chain.pool.base_fee,
    )
    stored_chain.history.unwind(mark, None, RevertedBlocks(stored_chain.ledger.head_hash))


CHANGES: dict[str, Callable[[Chain], object]] = {
    "seal": lambda stored_chain: stored_chain.builder.seal(),
    "open": lambda stored_chain: stored_chain.builder.open_block(),
    "edit": lambda stored_chain: stored_chain.edit(
        ALICE, lambda overlay: overlay.set_balance(ALICE, ETHER)
    ),
    "configure": lambda stored_chain: stored_chain.configure(BlockSettings(gas_limit=10**7)),
    "increase time": lambda stored_chain: stored_chain.clock.increase(100),
    "set time": lambda stored_chain: stored_chain.clock.set_time(5_000),
    "next timestamp": lambda stored_chain: stored_chain.clock.set_next_timestamp(9_000, 0),
    "interval": lambda stored_chain: stored_chain.clock.set_interval(7),
    "mark": lambda stored_chain: stored_chain.history.mark(),
    "unwind": unwind,
    "rewind": lambda stored_chain: stored_chain.history.rewind(1),
}


@pytest.fixture
def stored_chain(tmp_path: Path) -> Iterator[Chain]:
    opened = open_chain(tmp_path)
    opened.schedule.seal_on_request()
    opened.builder.seal()
    yield opened
    opened.close()


def written(stored_chain: Chain) -> BlockWrite:
    """Write the next block, of a transaction and a deposit."""
    InlineSequencer(stored_chain).submit(transaction(0).raw)
    stored_chain.enqueue(deposit(0))
    block = stored_chain.builder.open_block()
    while block.prepare():
        block.execute()
    write = stored_chain.builder.write_open(block)
    assert write is not None
    return write


def test_a_block_is_shown_once_it_is_durable(stored_chain: Chain) -> None:
    events, write = stored_chain.events.subscribe(), written(stored_chain)
    events.take()
    sent, store = transaction(0).hash, stored_chain.ledger.store
    assert stored_chain.number == 1
    assert store.locate_transaction(sent) is None
    assert store.hash_by_nonce(ALICE, 0) is None
    assert store.next_priority_id() == 0
    assert store.locate_priority(0) is None
    assert store.get_record(2) is None
    assert store.block_number(write.executed.header.hash()) is None
    assert events.take() == ([], 0)
    thread = threading.Thread(target=write.sync)
    thread.start()
    thread.join(PATIENCE_SECONDS)
    assert stored_chain.number == 1
    assert stored_chain.builder.show(write) == stored_chain.head
    assert stored_chain.number == 2
    assert store.locate_transaction(sent) == (2, 1)
    assert store.next_priority_id() == 1
    assert [type(it) for it in events.take()[0]] == [BlockSealed]
    assert not len(stored_chain.pool)
    stored_chain.verify()


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_comes_after_the_block(stored_chain: Chain, name: str) -> None:
    events, write = stored_chain.events.subscribe(), written(stored_chain)
    events.take()
    CHANGES[name](stored_chain)
    first = events.take()[0][0]
    assert isinstance(first, BlockSealed)
    assert first.number == 2
    assert stored_chain.builder.show(write) == write.executed.header
    stored_chain.builder.seal()
    stored_chain.verify()


def test_an_edit_beside_the_block_is_not_lost(stored_chain: Chain) -> None:
    write = written(stored_chain)
    CHANGES["edit"](stored_chain)
    stored_chain.builder.show(write)
    assert balance(stored_chain, ALICE) == ETHER


def test_a_change_waits_for_the_disk(stored_chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, goes_on = threading.Event(), threading.Event()
    sync = stored_chain.ledger.store.sync

    def slow() -> None:
        begun.set()
        assert goes_on.wait(PATIENCE_SECONDS)
        sync()

    monkeypatch.setattr(stored_chain.ledger.store, "sync", slow)
    write = written(stored_chain)
    syncing = threading.Thread(target=write.sync)
    syncing.start()
    assert begun.wait(PATIENCE_SECONDS)
    changing = threading.Thread(target=stored_chain.clock.increase, args=(1,))
    changing.start()
    assert stored_chain.number == 1
    goes_on.set()
    for it in (syncing, changing):
        it.join(PATIENCE_SECONDS)
    assert stored_chain.number == 2


def test_a_block_that_cannot_be_durable_is_not_shown_and_leaves_nothing(
    stored_chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise StoreFull(stored_chain.blocks.path)

    with monkeypatch.context() as patched:
        patched.setattr(stored_chain.ledger.store, "sync", fail)
        write = written(stored_chain)
        write.sync()
        with pytest.raises(StoreFull):
            stored_chain.builder.show(write)
    assert stored_chain.number == 1
    stored_chain.pool.remove(transaction(0).hash, "its sender has the error")
    stored_chain.filler.priority.replace(())
    InlineSequencer(stored_chain).submit(transaction(0, by=1).raw)
    stored_chain.builder.seal()
    assert stored_chain.blocks.locate_transaction(transaction(0).hash) is None
    assert stored_chain.ledger.store.next_priority_id() == 0
    assert stored_chain.blocks.locate_transaction(transaction(0, by=1).hash) == (2, 0)
    stored_chain.verify()
