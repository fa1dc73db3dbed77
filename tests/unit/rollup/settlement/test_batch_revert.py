"""Batches that are reverted on L1: what is sent until L1 has done it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import pytest

from entresol.chain.edits import BlockSettings
from entresol.l1.fee_limits import GWEI, FeeLimits
from entresol.l1.operator import Operator
from entresol.primitives.transactions import FeeMarketTransaction
from entresol.rollup.settlement.batch_revert import RevertedBatches, revert_batches
from tests.support.rollup.layer_ones import Embedded
from tests.support.rollup.settlement_scenario import OPERATOR, Scenario, embedded

PATIENCE = 60.0


async def commit(scenario: Scenario) -> Embedded:
    """Commit a batch, and let L1 make no more blocks by itself."""
    scenario.seal_batch(1)
    assert await scenario.settler.step(0.0)
    assert isinstance(scenario.layer_one, Embedded)
    assert await scenario.totals() == (1, 0, 0)
    scenario.layer_one.mine_on_request()
    return scenario.layer_one


def begin(
    scenario: Scenario, limits: FeeLimits | None = None, replace_seconds: float = 0.0
) -> asyncio.Task[RevertedBatches]:
    """Begin to revert to the genesis."""
    operator = Operator(scenario.l1, OPERATOR.secret, limits)
    addresses = scenario.contracts.addresses
    return asyncio.create_task(
        revert_batches(scenario.l1, addresses, operator, 0, replace_seconds=replace_seconds)
    )


async def until(holds: Callable[[], object]) -> None:
    """Let the revert go on until something holds."""
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110 - it takes turns with the revert
            await asyncio.sleep(0)


def pending(l1: Embedded) -> FeeMarketTransaction:
    """Return the only pending transaction."""
    (found,) = l1.chain.pool
    assert isinstance(found.payload, FeeMarketTransaction)
    return found.payload


def test_a_fee_below_that_of_the_next_block_is_raised_with_the_same_nonce() -> None:
    async def play(scenario: Scenario) -> None:
        l1 = await commit(scenario)
        reverting = begin(scenario, replace_seconds=PATIENCE)
        await until(lambda: len(l1.chain.pool))
        (first,) = l1.chain.pool
        l1.chain.configure(BlockSettings(base_fee=50 * GWEI))
        l1.mine()
        await until(lambda: pending(l1).max_fee_per_gas >= 50 * GWEI)
        (second,) = l1.chain.pool
        assert second.payload.nonce == first.payload.nonce
        l1.mine()
        found = await reverting
        assert (found.last, found.before.committed, found.transaction) == (0, 1, second.hash)
        assert await scenario.totals() == (0, 0, 0)

    embedded(play)


def test_a_revert_that_blocks_leave_out_is_replaced_by_at_least_a_tenth_more() -> None:
    async def play(scenario: Scenario) -> None:
        l1 = await commit(scenario)
        reverting = begin(scenario)
        await until(lambda: len(l1.chain.pool))
        (first,) = l1.chain.pool
        before = pending(l1)
        while not len(l1.chain.pool) or pending(l1) == before:
            # L1 loses it, and makes a block without it.
            l1.drop(first.hash)
            l1.mine()
            await until(lambda: len(l1.chain.pool))
        (second,) = l1.chain.pool
        after = pending(l1)
        assert after.max_fee_per_gas * 100 >= before.max_fee_per_gas * 110
        assert after.max_priority_fee_per_gas * 100 >= before.max_priority_fee_per_gas * 110
        l1.mine()
        assert (await reverting).transaction == second.hash

    embedded(play)


def test_a_limit_that_forbids_a_higher_fee_is_named_and_the_first_one_may_still_be_included(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def play(scenario: Scenario) -> None:
        l1 = await commit(scenario)
        base_fee = l1.chain.head.base_fee_per_gas
        reverting = begin(scenario, FeeLimits(max_fee=base_fee * 2))
        await until(lambda: len(l1.chain.pool))
        (first,) = l1.chain.pool
        l1.chain.configure(BlockSettings(base_fee=50 * GWEI))
        l1.mine()
        await until(lambda: "--l1-max-fee-gwei forbids more" in caplog.text)
        l1.chain.configure(BlockSettings(base_fee=base_fee))
        l1.mine()
        assert (await reverting).transaction == first.hash

    caplog.set_level(logging.WARNING, "entresol.rollup")
    embedded(play)
