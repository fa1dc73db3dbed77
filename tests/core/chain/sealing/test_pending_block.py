"""The pending block: built once, and again when one of its inputs changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any

import msgspec
import pytest

from entresol.chain.base_fee import Eip1559BaseFee, L2BaseFee
from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.fees import FeeModel
from entresol.chain.rules import ChainRules
from entresol.chain.sealing.pending_block import OpenBlock
from entresol.errors import AlreadyKnown
from entresol.execution.block_executor import BlockExecutor
from entresol.primitives.base_token import EtherPrice
from entresol.primitives.headers import Header
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import (
    ALICE,
    ETHER,
    GENESIS,
    NOBODY,
    RULES,
    deposit,
    open_chain,
    transaction,
)
from tests.support.chain.steering import revert


class Counted:
    """A manual chain with a stopped clock that counts how often its pool is executed."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.chain = Chain.open(None, ChainRules.layer_2(), GENESIS, clock=Clock(lambda: self.now))
        self.chain.schedule.seal_on_request()
        InlineSequencer(self.chain).submit(transaction(0, wei=9).raw)
        self.built = 0
        self._fill = self.chain.filler.fill
        self.chain.filler.fill = self._count  # type: ignore[method-assign]

    def _count(self, *arguments: Any, **options: Any) -> BlockExecutor:
        self.built += 1
        return self._fill(*arguments, **options)

    def pass_a_second(self) -> None:
        self.now += 1


@pytest.fixture
def counted() -> Iterator[Counted]:
    counted = Counted()
    yield counted
    counted.chain.close()


def test_the_pool_is_executed_once_for_any_number_of_calls(counted: Counted) -> None:
    first = counted.chain.builder.pending()
    assert all(counted.chain.builder.pending() is first for _ in range(500))
    assert counted.chain.builder.pending_block() is counted.chain.builder.pending_block()
    assert counted.built == 1


def reject(counted: Counted) -> None:
    with pytest.raises(AlreadyKnown):
        InlineSequencer(counted.chain).submit(transaction(0, wei=9).raw)


@pytest.mark.parametrize(
    "act",
    [
        reject,
        lambda it: it.chain.history.mark(),
        lambda it: it.chain.pool.best(),
        lambda it: it.chain.pool.remove(bytes(32), "it is not there"),
        lambda it: it.chain.set_finality(safe=0),
        lambda it: it.chain.clock.increase(0),
    ],
)
def test_an_unrelated_change_leaves_the_block_cached(
    counted: Counted, act: Callable[[Counted], object]
) -> None:
    first = counted.chain.builder.pending()
    act(counted)
    assert counted.chain.builder.pending() is first


def restore(counted: Counted) -> None:
    checkpoint = counted.chain.history.mark()
    InlineSequencer(counted.chain).submit(transaction(1).raw)
    counted.chain.builder.pending()
    revert(counted.chain, checkpoint)


@pytest.mark.parametrize(
    "act",
    [
        lambda it: it.chain.add(transaction(1)),
        lambda it: it.chain.add(transaction(0, tip=10**8)),
        lambda it: it.chain.pool.remove(transaction(0, wei=9).hash, "nobody wants it"),
        lambda it: it.chain.enqueue(deposit(0)),
        lambda it: it.chain.edit(NOBODY, lambda overlay: overlay.set_balance(NOBODY, 5)),
        lambda it: it.chain.builder.seal(),
        lambda it: it.chain.builder.seal(limit=0),
        lambda it: it.chain.clock.increase(1),
        lambda it: it.chain.clock.set_next_timestamp(5_000, 1_000),
        Counted.pass_a_second,
        restore,
    ],
)
def test_a_change_of_an_input_rebuilds_the_block(
    counted: Counted, act: Callable[[Counted], object]
) -> None:
    first = counted.chain.builder.pending()
    act(counted)
    again = counted.chain.builder.pending()
    assert again is not first
    chain = counted.chain
    built = chain.filler.fill(again.env.timestamp, *chain.edits.stored()).finish(chain.ledger.trie)
    assert chain.builder.pending_block().header == built.header


def test_a_block_with_a_reverted_blocks_number_is_a_new_block(counted: Counted) -> None:
    chain = counted.chain
    chain.builder.seal()
    InlineSequencer(chain).submit(transaction(1, wei=1).raw)
    before = chain.builder.pending()
    chain.history.rewind(0)
    chain.builder.seal(limit=0)
    assert chain.builder.pending() is not before
    assert [it.payload.nonce for it in chain.builder.pending().transactions] == [0, 1]


def test_another_base_fee_is_another_block() -> None:
    rules = ChainRules(chain_id=270, fees=Eip1559BaseFee())
    chain = Chain.open(None, rules, GENESIS, clock=Clock(lambda: 1_000.0))
    chain.schedule.seal_on_request()
    fees = []
    for _ in range(2):
        fees.append(chain.builder.pending().env.base_fee)
        chain.builder.seal()
    assert fees[0] > fees[1]
    chain.close()


def test_an_invalid_transaction_stays_in_the_pool_and_is_executed_once(counted: Counted) -> None:
    chain = counted.chain
    # The pool does not see an edit of the account before the next block.
    chain.pool.on_block([], chain.latest, chain.next_base_fee(), touched=[])
    chain.edits.apply(chain.ledger.latest, lambda overlay: overlay.set_balance(ALICE, 0))
    first = chain.builder.pending()
    assert list(first.transactions) == []
    assert [it.transaction for it in first.rejected] == list(chain.pool)
    assert chain.builder.pending() is first
    counted.pass_a_second()
    again = chain.builder.pending()
    assert (again is first, again.rejected) == (False, [])
    chain.builder.seal()
    assert not len(chain.pool)


def executed(chain: Chain) -> OpenBlock:
    """Return the next block of a chain, executed on another thread."""
    block = chain.builder.open_block()
    while block.prepare():
        thread = Thread(target=block.execute)
        thread.start()
        thread.join()
    return block


def sealed(chain: Chain, block: OpenBlock) -> Header | None:
    """Seal a finished block; None if the chain has changed."""
    write = chain.builder.write_open(block)
    return None if write is None else chain.builder.show(write)


def test_an_opened_block_is_the_one_that_sealing_would_make(manual: Chain) -> None:
    other = open_chain()
    for chain in (manual, other):
        chain.schedule.seal_on_request()
        InlineSequencer(chain).submit(transaction(0).raw)
        for number in range(3):
            chain.enqueue(deposit(number))
    assert sealed(manual, executed(manual)) == other.builder.seal()
    assert not manual.filler.priority
    assert len(manual.blocks.record(1).transactions) == 4
    manual.verify()
    other.close()


def test_a_block_has_the_prices_that_its_base_fee_follows_from() -> None:
    model = FeeModel(ether_price=EtherPrice(7, 1))
    rules = msgspec.structs.replace(RULES, fees=L2BaseFee(model))
    chain = Chain.open(None, rules, GENESIS, clock=Clock(lambda: 1_000.0))
    before = model.prices()
    block = executed(chain)
    model.set_ether_price(EtherPrice(9, 1))
    header = sealed(chain, block)
    assert header is not None
    assert header.base_fee_per_gas == 7 * 10**8
    assert chain.prices.at(1) == before != model.prices()
    chain.close()


@pytest.mark.parametrize(
    "change",
    [
        lambda chain: chain.builder.seal(),
        lambda chain: chain.edit(ALICE, lambda overlay: overlay.set_balance(ALICE, ETHER)),
        lambda chain: chain.clock.increase(100),
        lambda chain: chain.filler.priority.replace([]),
        lambda chain: chain.pool.remove(transaction(0).hash, "by hand"),
        lambda chain: chain.history.rewind(0),
    ],
    ids=["sealed", "edited", "later", "dropped", "removed", "reverted"],
)
def test_a_block_is_not_sealed_on_a_chain_that_has_changed(
    manual: Chain, change: Callable[[Chain], object]
) -> None:
    manual.builder.seal()
    manual.enqueue(deposit(0))
    InlineSequencer(manual).submit(transaction(0).raw)
    block = executed(manual)
    change(manual)
    head = manual.head
    assert manual.builder.write_open(block) is None
    assert manual.head == head
