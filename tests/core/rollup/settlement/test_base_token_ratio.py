"""An operator changes on L1 what ether costs in the base token."""

from __future__ import annotations

import asyncio
from fractions import Fraction

import pytest

from entresol.chain.fees import FeeModel
from entresol.errors import LayerOneFailed
from entresol.l1.operator import OperatorKeys
from entresol.primitives.base_token import EtherPrice
from entresol.rollup.l1_prices import EtherPriceWatcher
from entresol.rollup.settlement import base_token_ratio
from entresol.rollup.settlement.base_token_ratio import BaseTokenRatio
from tests.support.known import known
from tests.support.played import played
from tests.support.rollup.layer_ones import ACCOUNTS
from tests.support.rollup.settlement_scenario import Scenario, embedded

ADMIN = OperatorKeys.of(ACCOUNTS[0].secret)
"""The account that deploys administers the chain."""


class Prices:
    """The prices of a scenario's chain, what follows L1, and what changes it there."""

    def __init__(self, scenario: Scenario, decimals: int = 18) -> None:
        self.fees = FeeModel(ether_price=EtherPrice(3000, 1))
        contract = scenario.contracts.chain
        self.watcher = EtherPriceWatcher(contract, self.fees)
        self.ratio = BaseTokenRatio(contract, self.fees, decimals, [scenario.settler])

    async def current(self) -> EtherPrice:
        await self.watcher.step()
        return self.fees.ether_price


@played(embedded, keys=ADMIN)
async def test_the_admins_key_changes_the_price_and_the_l2_follows(scenario: Scenario) -> None:
    prices = Prices(scenario, decimals=6)
    assert await prices.current() == EtherPrice(1, 1)
    sent = await prices.ratio.set(Fraction(628, 17))
    receipt = known(await scenario.l1.receipt(sent))
    assert receipt.succeeded
    assert await prices.current() == EtherPrice(157, 17 * 25 * 10**10)


@played(embedded, keys=ADMIN)
async def test_a_key_goes_on_to_settle_after_it_changed_the_price_and_waits_for_its_pending_step(
    scenario: Scenario,
) -> None:
    prices = Prices(scenario)
    scenario.seal_batch(1)
    scenario.layer_one.mine_on_request()
    await scenario.settler.step(0.0)
    assert scenario.is_pending
    changing = asyncio.create_task(prices.ratio.set(Fraction(7)))
    await asyncio.sleep(0)
    assert await prices.current() == EtherPrice(1, 1)
    while not changing.done():
        scenario.layer_one.mine()
        await asyncio.sleep(0)
    await changing
    for _ in range(20):
        scenario.layer_one.mine()
        await scenario.settler.step(0.0)
    assert await scenario.totals() == (1, 1, 1)
    assert await prices.current() == EtherPrice(7, 1)


@played(embedded, keys=ADMIN)
async def test_calls_and_steps_of_one_key_have_a_nonce_each_while_l1_includes_nothing(
    scenario: Scenario,
) -> None:
    prices = Prices(scenario)
    scenario.layer_one.mine_on_request()
    first = await prices.ratio.set(Fraction(7))
    second = asyncio.create_task(prices.ratio.set(Fraction(5)))
    scenario.seal_batch(1)
    for _ in range(3):
        await scenario.settler.step(0.0)
        assert not scenario.is_pending, "the nonce is that of the call"
    assert not second.done()
    while not second.done() or await scenario.totals() != (1, 1, 1):
        await asyncio.sleep(0)
        scenario.layer_one.mine()
        await scenario.settler.step(0.0)
    for sent in (first, await second):
        receipt = known(await scenario.l1.receipt(sent))
        assert receipt.succeeded
    assert await prices.current() == EtherPrice(5, 1)


@played(embedded, keys=ADMIN)
async def test_a_call_that_a_revert_of_l1_removes_holds_up_nothing(scenario: Scenario) -> None:
    prices, before = Prices(scenario), scenario.layer_one.checkpoint()
    await prices.ratio.set(Fraction(7))
    await prices.ratio.set(Fraction(5))
    scenario.layer_one.restore(before)
    assert await prices.current() == EtherPrice(1, 1)
    scenario.seal_batch(1)
    await scenario.settle()
    assert await scenario.totals() == (1, 1, 1)
    await prices.ratio.set(Fraction(9))
    assert await prices.current() == EtherPrice(9, 1)


@pytest.mark.parametrize("is_on_request", [False, True])
@played(embedded, keys=ADMIN)
async def test_a_price_that_a_revert_of_l1_takes_back_does_not_return_with_the_next_batch(
    scenario: Scenario, is_on_request: bool
) -> None:
    prices, before = Prices(scenario), scenario.layer_one.checkpoint()
    if is_on_request:
        scenario.layer_one.mine_on_request()
    await prices.ratio.set(Fraction(7))
    if is_on_request:
        scenario.layer_one.mine()
        await scenario.settler.step(0.0)
    scenario.layer_one.restore(before)
    assert await prices.current() == EtherPrice(1, 1)
    scenario.seal_batch(1)
    while await scenario.totals() != (1, 1, 1):
        await scenario.settler.step(0.0)
        if is_on_request:
            scenario.layer_one.mine()
    assert await prices.current() == EtherPrice(1, 1)


@played(embedded, keys=ADMIN)
async def test_a_step_that_stays_pending_holds_the_call_up_for_a_bounded_time(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base_token_ratio, "SEND_SECONDS", 0.05)

    prices = Prices(scenario)
    scenario.seal_batch(1)
    scenario.layer_one.mine_on_request()
    await scenario.settler.step(0.0)
    with pytest.raises(LayerOneFailed, match="is pending on the embedded L1: try again later"):
        await prices.ratio.set(Fraction(7))
    assert await prices.current() == EtherPrice(1, 1)


@played(embedded)
async def test_without_the_admins_key_the_error_has_the_call_to_make(scenario: Scenario) -> None:
    prices = Prices(scenario, decimals=6)
    with pytest.raises(LayerOneFailed) as caught:
        await prices.ratio.set(Fraction(3000))
    assert "setTokenMultiplier(3, 1000000000)" in str(caught.value)
    assert ACCOUNTS[0].address.checksummed() in str(caught.value)
    assert scenario.contracts.chain.address.checksummed() in str(caught.value)


@pytest.mark.parametrize(
    ("tokens", "problem"),
    [
        (Fraction(2**128), "the nominator is from 1 to"),
        (Fraction(1, 2**128), "the denominator is from 1 to"),
        (Fraction(2**128 - 1), "a block holds at most"),
    ],
)
@played(embedded, keys=ADMIN)
async def test_a_price_that_cannot_be_is_rejected_before_anything_is_sent(
    scenario: Scenario, tokens: Fraction, problem: str
) -> None:
    head = await scenario.l1.block_number()
    with pytest.raises(ValueError, match=problem):
        await Prices(scenario).ratio.set(tokens)
    assert await scenario.l1.block_number() == head


@played(embedded, keys=ADMIN)
async def test_a_chain_that_is_paid_in_ether_has_no_other_price(scenario: Scenario) -> None:
    ratio = BaseTokenRatio(scenario.contracts.chain, FeeModel(), 18, [scenario.settler])
    with pytest.raises(LayerOneFailed, match="paid in ether"):
        await ratio.set(Fraction(2))
