"""Batches that are reverted on L1: what is sent until L1 has done it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from entresol.chain.edits import BlockSettings
from entresol.errors import LayerOneMismatch
from entresol.l1.fee_limits import GWEI
from entresol.l1.operator import Operator
from entresol.l1.tx_manager import TxManager
from entresol.primitives.transactions import FeeMarketTransaction
from entresol.primitives.values import Hash32
from entresol.rollup.settlement.batch_revert import RevertedBatches, revert_batches
from tests.support.played import played
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


def begin(scenario: Scenario) -> asyncio.Task[RevertedBatches]:
    transactions = TxManager(Operator(scenario.l1, OPERATOR.secret), resend_seconds=0.0)
    addresses = scenario.contracts.addresses
    return asyncio.create_task(revert_batches(scenario.l1, addresses, transactions, 0))


async def until(holds: Callable[[], object]) -> None:
    """Let the revert go on until something holds."""
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110 - it takes turns with the revert
            await asyncio.sleep(0)


def pending(l1: Embedded) -> FeeMarketTransaction:
    (found,) = l1.chain.pool
    assert isinstance(found.payload, FeeMarketTransaction)
    return found.payload


@played(embedded)
async def test_a_fee_below_that_of_the_next_block_is_raised_with_the_same_nonce(
    scenario: Scenario,
) -> None:
    l1 = await commit(scenario)
    reverting = begin(scenario)
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


@played(embedded)
async def test_a_receipt_that_comes_later_than_the_nonce_is_waited_for(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    l1 = await commit(scenario)
    reverting = begin(scenario)
    await until(lambda: len(l1.chain.pool))

    async def too_late(_transaction: Hash32) -> None:
        monkeypatch.undo()

    monkeypatch.setattr(scenario.l1, "receipt", too_late)
    l1.mine()
    assert (await reverting).last == 0


@played(embedded)
async def test_a_nonce_that_another_transaction_takes_ends_the_revert(scenario: Scenario) -> None:
    l1 = await commit(scenario)
    reverting = begin(scenario)
    await until(lambda: len(l1.chain.pool))
    (first,) = l1.chain.pool
    nonce = first.payload.nonce + 1
    l1.chain.edit(first.sender, lambda state: state.set_nonce(first.sender, nonce))
    l1.mine()
    with pytest.raises(LayerOneMismatch, match=r"took nonce \d+ .* a node with this key settles"):
        await reverting
    assert await scenario.totals() == (1, 0, 0)
