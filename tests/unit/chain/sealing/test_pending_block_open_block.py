from __future__ import annotations

from collections.abc import Callable
from threading import Thread

import msgspec
import pytest

from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.fees import FeeModel, L2BaseFee
from entresol.chain.sealing.pending_block import OpenBlock
from entresol.primitives.base_token import EtherPrice
from entresol.primitives.headers import Header
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import (
    ALICE,
    ETHER,
    GENESIS,
    RULES,
    deposit,
    open_chain,
    transaction,
)


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


def test_transactions_of_the_mempool_wait_for_priority_transactions(manual: Chain) -> None:
    InlineSequencer(manual).submit(transaction(0).raw)
    manual.enqueue(deposit(0, gas_limit=30_000_000))
    manual.enqueue(deposit(1, gas_limit=30_000_000))
    assert sealed(manual, executed(manual)) is not None
    assert len(manual.blocks.record(1).transactions) == 1
    assert sealed(manual, executed(manual)) is not None
    assert len(manual.blocks.record(2).transactions) == 2


def test_deposits_that_arrive_meanwhile_are_in_the_block_after_it(manual: Chain) -> None:
    manual.enqueue(deposit(0))
    block = executed(manual)
    manual.enqueue(deposit(1))
    assert sealed(manual, block) is not None
    assert len(manual.filler.priority) == 1


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
