"""The pending block: built once, and again when one of its inputs changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.fees import Eip1559BaseFee
from entresol.chain.rules import ChainRules
from entresol.dev.reverts import Reverts
from entresol.errors import AlreadyKnown
from entresol.execution.block_executor import BlockExecutor
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import ALICE, GENESIS, NOBODY, balance, deposit, transaction


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
    reverts = Reverts(counted.chain)
    checkpoint = reverts.checkpoint()
    InlineSequencer(counted.chain).submit(transaction(1).raw)
    counted.chain.builder.pending()
    reverts.restore(checkpoint)


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


def test_calls_do_not_change_the_pending_block(counted: Counted) -> None:
    chain = counted.chain
    before = chain.builder.pending_block().header
    assert balance(chain, NOBODY) == 0
    chain.builder.seal()
    assert chain.head == before
