"""A block that is written but not durable yet: nobody sees it, and whatever changes the chain comes after it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from entresol.chain.chain import Chain
from entresol.chain.edits import BlockSettings
from entresol.chain.events import BlockSealed
from entresol.chain.history import ChainMark
from entresol.chain.ledger import RevertedBlocks
from entresol.chain.sealing.block_builder import BlockWrite
from entresol.dev.reverts import Reverts
from entresol.errors import StoreFull
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import ALICE, ETHER, balance, deposit, open_chain, transaction
from tests.support.polling import PATIENCE_SECONDS


def unwind(chain: Chain) -> None:
    mark = ChainMark(
        number=1,
        clock=chain.clock.state,
        settings=chain.settings,
        finality=chain.finality,
        base_fee=chain.pool.base_fee,
    )
    chain.history.unwind(mark, None, RevertedBlocks(chain.ledger.head_hash))


CHANGES: dict[str, Callable[[Chain], object]] = {
    "seal": lambda chain: chain.builder.seal(),
    "open": lambda chain: chain.builder.open_block(),
    "edit": lambda chain: chain.edit(ALICE, lambda overlay: overlay.set_balance(ALICE, ETHER)),
    "configure": lambda chain: chain.configure(BlockSettings(gas_limit=10**7)),
    "increase time": lambda chain: chain.clock.increase(100),
    "set time": lambda chain: chain.clock.set_time(5_000),
    "next timestamp": lambda chain: chain.clock.set_next_timestamp(9_000, 0),
    "interval": lambda chain: chain.clock.set_interval(7),
    "mark": lambda chain: chain.history.mark(),
    "roll back": lambda chain: Reverts(chain).plan_roll_back(1).apply(),
    "unwind": unwind,
    "rewind": lambda chain: chain.history.rewind(1),
}


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[Chain]:
    opened = open_chain(tmp_path)
    opened.schedule.seal_on_request()
    opened.builder.seal()
    yield opened
    opened.close()


def written(chain: Chain) -> BlockWrite:
    """Write the next block, of a transaction and a deposit."""
    InlineSequencer(chain).submit(transaction(0).raw)
    chain.enqueue(deposit(0))
    block = chain.builder.open_block()
    while block.prepare():
        block.execute()
    write = chain.builder.write_open(block)
    assert write is not None
    return write


def test_a_block_is_shown_once_it_is_durable(chain: Chain) -> None:
    events, write = chain.events.subscribe(), written(chain)
    events.take()
    sent, store = transaction(0).hash, chain.ledger.store
    assert chain.number == 1
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
    assert chain.number == 1
    assert chain.builder.show(write) == chain.head
    assert chain.number == 2
    assert store.locate_transaction(sent) == (2, 1)
    assert store.next_priority_id() == 1
    assert [type(it) for it in events.take()[0]] == [BlockSealed]
    assert not len(chain.pool)
    chain.verify()


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_comes_after_the_block(chain: Chain, name: str) -> None:
    events, write = chain.events.subscribe(), written(chain)
    events.take()
    CHANGES[name](chain)
    first = events.take()[0][0]
    assert isinstance(first, BlockSealed)
    assert first.number == 2
    assert chain.builder.show(write) == write.executed.header
    chain.builder.seal()
    chain.verify()


def test_an_edit_beside_the_block_is_not_lost(chain: Chain) -> None:
    write = written(chain)
    CHANGES["edit"](chain)
    chain.builder.show(write)
    assert balance(chain, ALICE) == ETHER


def test_a_change_waits_for_the_disk(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, goes_on = threading.Event(), threading.Event()
    sync = chain.ledger.store.sync

    def slow() -> None:
        begun.set()
        assert goes_on.wait(PATIENCE_SECONDS)
        sync()

    monkeypatch.setattr(chain.ledger.store, "sync", slow)
    write = written(chain)
    syncing = threading.Thread(target=write.sync)
    syncing.start()
    assert begun.wait(PATIENCE_SECONDS)
    changing = threading.Thread(target=chain.clock.increase, args=(1,))
    changing.start()
    assert chain.number == 1
    goes_on.set()
    for it in (syncing, changing):
        it.join(PATIENCE_SECONDS)
    assert chain.number == 2


def test_a_block_that_cannot_be_durable_is_not_shown_and_leaves_nothing(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise StoreFull(chain.blocks.path)

    with monkeypatch.context() as patched:
        patched.setattr(chain.ledger.store, "sync", fail)
        write = written(chain)
        write.sync()
        with pytest.raises(StoreFull):
            chain.builder.show(write)
    assert chain.number == 1
    chain.pool.remove(transaction(0).hash, "its sender has the error")
    chain.filler.priority.replace(())
    InlineSequencer(chain).submit(transaction(0, by=1).raw)
    chain.builder.seal()
    assert chain.blocks.locate_transaction(transaction(0).hash) is None
    assert chain.ledger.store.next_priority_id() == 0
    assert chain.blocks.locate_transaction(transaction(0, by=1).hash) == (2, 0)
    chain.verify()
