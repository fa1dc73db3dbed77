"""Reverts that are prepared on another thread."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from entresol.chain.chain import Chain
from entresol.chain.events import BlockSealed, BlocksReverted
from entresol.errors import StateMissing
from entresol.features.dev.checkpoint import (
    QUICK_BLOCKS,
    QUICK_TRANSACTIONS,
    NodeRevertPlan,
    RevertPlan,
)
from entresol.features.dev.reverts import Reverts
from entresol.sequencer.sequencer import InlineSequencer
from entresol.state_missing import waiting
from tests.support.chain.dev_chain import GENESIS, NOBODY, RULES, balance, open_chain, transaction
from tests.support.fork.running_fork import open_fork, remote_of


@pytest.fixture
def chain() -> Iterator[Chain]:
    opened = open_chain()
    opened.schedule.seal_on_request()
    yield opened
    opened.close()


def seal(chain: Chain, count: int, first: int = 0) -> None:
    for nonce in range(first, first + count):
        InlineSequencer(chain).submit(transaction(nonce, wei=1).raw)
        chain.builder.seal()


def fill_pool(chain: Chain, count: int, first: int = 0) -> None:
    for nonce in range(first, first + count):
        InlineSequencer(chain).submit(transaction(nonce, wei=1).raw)


@pytest.mark.parametrize(
    ("blocks", "pooled", "quick"),
    [
        (QUICK_BLOCKS, QUICK_TRANSACTIONS, True),
        (QUICK_BLOCKS + 1, 0, False),
        (0, QUICK_TRANSACTIONS + 1, False),
    ],
)
def test_what_is_long_is_known_before_it_is_read(
    chain: Chain, blocks: int, pooled: int, quick: bool
) -> None:
    fill_pool(chain, pooled)
    reverts = Reverts(chain)
    checkpoint = reverts.checkpoint()
    for hash_ in [it.hash for it in chain.pool]:
        chain.pool.remove(hash_, "")
    seal(chain, blocks)
    plan = reverts.plan_restore(checkpoint)
    assert plan is not None
    assert plan.is_quick is quick


def test_a_revert_that_another_thread_prepared_is_the_same(chain: Chain) -> None:
    seal(chain, 2)
    fill_pool(chain, 5, first=2)
    reverts = Reverts(chain)
    checkpoint = reverts.checkpoint()
    pooled, order = list(chain.pool), list(chain.pool.best())
    seal(chain, 3, first=7)
    subscription = chain.events.subscribe()
    plan = reverts.plan_restore(checkpoint)
    assert plan is not None
    with ThreadPoolExecutor(1) as workers:
        workers.submit(plan.prepare).result()
    assert (chain.number, plan.is_current) == (5, True)
    plan.apply()
    assert (chain.number, balance(chain, NOBODY)) == (2, 2)
    assert (list(chain.pool), list(chain.pool.best())) == (pooled, order)
    (event,), lost = subscription.take()
    assert isinstance(event, BlocksReverted)
    assert ([record.header().number for record in event.records], event.head) == ([5, 4, 3], 2)
    assert lost == 0
    chain.verify()


def test_a_block_makes_a_plan_outdated(chain: Chain) -> None:
    reverts = Reverts(chain)
    checkpoint = reverts.checkpoint()
    seal(chain, 1)
    plan = reverts.plan_restore(checkpoint)
    assert plan is not None
    assert plan.is_current
    chain.builder.seal()
    assert not plan.is_current


def test_a_transaction_makes_only_a_rollback_outdated(chain: Chain) -> None:
    reverts = Reverts(chain)
    checkpoint = reverts.checkpoint()
    seal(chain, 1)
    restore, roll_back = reverts.plan_restore(checkpoint), reverts.plan_roll_back(0)
    fill_pool(chain, 1, first=1)
    assert restore is not None
    assert (restore.is_current, roll_back.is_current) == (True, False)


def test_a_rollback_keeps_what_the_state_allows(chain: Chain) -> None:
    seal(chain, 2)
    fill_pool(chain, 2, first=2)
    reverts = Reverts(chain)
    reverts.plan_roll_back(1).apply()
    assert (chain.number, len(chain.pool), list(chain.pool.best())) == (1, 2, [])
    InlineSequencer(chain).submit(transaction(1, wei=3).raw)
    assert len(list(chain.pool.best())) == 3


def test_a_rollback_comes_after_the_block_that_is_written(chain: Chain) -> None:
    chain.schedule.seal_on_request()
    fill_pool(chain, 1)
    chain.builder.seal()
    subscription, block = chain.events.subscribe(), chain.builder.open_block()
    while block.prepare():
        block.execute()
    assert chain.builder.write_open(block) is not None
    Reverts(chain).plan_roll_back(0).apply()
    sealed, reverted = subscription.take()[0]
    assert isinstance(sealed, BlockSealed)
    assert isinstance(reverted, BlocksReverted)
    assert (sealed.number, reverted.head) == (2, 0)
    chain.builder.seal()
    chain.verify()


def test_a_pool_that_was_empty_loses_what_arrives_while_the_revert_is_prepared(
    chain: Chain,
) -> None:
    reverts = Reverts(chain)
    checkpoint = reverts.checkpoint()
    plan = reverts.plan_restore(checkpoint)
    assert plan is not None
    plan.prepare()
    fill_pool(chain, 1)
    plan.apply()
    assert not len(chain.pool)


def test_a_revert_of_several_chains_changes_none_if_a_fork_misses_a_sender_of_the_pool(
    chain: Chain,
) -> None:
    """All are prepared before the first is changed, so that it can be done again once the sender is fetched."""
    reverts = Reverts(chain)
    checkpoint = reverts.checkpoint()
    seal(chain, 2)
    with remote_of(GENESIS) as remote:
        fork = open_fork(remote, RULES)
        fork.schedule.seal_on_request()
        waiting(partial(fill_pool, fork, 1))()
        pooled = fork.pool.checkpoint()
        with remote_of(GENESIS) as other:
            # A table of its own, in which nothing is known.
            cold = open_fork(other, RULES)
            unknown = cold.latest
            plan = RevertPlan(
                fork,
                fork.number,
                fork.history.mark,
                lambda: fork.pool.restored(pooled, unknown, 0),
                pooled=1,
            )
            first = reverts.plan_restore(checkpoint)
            assert first is not None
            with pytest.raises(StateMissing):
                NodeRevertPlan([first, plan]).apply()
            assert chain.number == 2
            waiting(NodeRevertPlan([first, plan]).apply)()
            cold.close()
        assert (chain.number, len(fork.pool)) == (0, 1)
        fork.close()
