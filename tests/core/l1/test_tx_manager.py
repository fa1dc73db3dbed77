"""The pending settlement transaction: sent again, replaced within limits, and never lost."""

from __future__ import annotations

import logging

import msgspec
import pytest

from entresol.chain.edits import BlockSettings
from entresol.errors import L1FeeTooHigh, OperatorOutOfFunds
from entresol.l1.fee_limits import GWEI
from entresol.l1.layer_one import L1Fees
from entresol.primitives.batches import SettlementStep
from entresol.primitives.transactions import sign
from entresol.rollup.settlement.pending_tx import PendingSettlements
from tests.support.coroutines import completed
from tests.support.known import known
from tests.support.played import played
from tests.support.rollup.layer_ones import Embedded
from tests.support.rollup.settlement_scenario import OPERATOR, Scenario, embedded, on_disk, run

HOUR = 3_600


async def send_and_lose(scenario: Scenario) -> None:
    """Send the commit of a batch, and drop it on L1."""
    scenario.layer_one.mine_on_request()
    scenario.seal_batch(1)
    assert await scenario.settler.step(0.0)
    scenario.pass_over()


def fees_of(scenario: Scenario) -> list[int]:
    """Return the fee caps of the attempts, the highest first."""
    return [transaction.fees.max_fee for transaction in scenario.pending().transactions()]


def sign_attempt(scenario: Scenario, max_fee: int) -> None:
    """Add an attempt to the pending transaction, as another version or configuration signed it."""
    pending = scenario.pending()
    first = pending.transactions()[-1]
    payload = msgspec.structs.replace(first.payload, max_fee_per_gas=max_fee)
    signed = sign(payload, OPERATOR.secret)
    attempt = msgspec.structs.replace(first, hash=signed.hash, raw=signed.raw)
    completed(PendingSettlements(scenario.batches).persist(pending.with_attempt(attempt)))


@played(run)
async def test_a_stuck_transaction_is_replaced_with_a_higher_fee(scenario: Scenario) -> None:
    await send_and_lose(scenario)
    assert not await scenario.settler.step(0.5)
    assert not await scenario.settler.step(30.0)
    second, first = fees_of(scenario)
    assert first * 110 < second * 100
    assert not await scenario.settler.step(31.0)
    assert fees_of(scenario) == [second, first]
    scenario.layer_one.mine()
    assert await scenario.settler.step(32.0)
    assert await scenario.totals() == (1, 0, 0)
    assert scenario.batches.settled(1, SettlementStep.COMMIT) is not None
    assert scenario.settler.problem is None


@played(run)
async def test_no_fee_is_raised_while_l1_makes_no_blocks(
    scenario: Scenario, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "entresol.l1")
    scenario.layer_one.mine_on_request()
    scenario.seal_batch(1)
    assert await scenario.settler.step(0.0)
    sent = scenario.pending()
    for now in range(0, HOUR, 30):
        assert not await scenario.settler.step(float(now))
    assert scenario.pending() == sent
    problem = known(scenario.settler.problem)
    assert problem.startswith("commit of batch 1 is pending, and ")
    assert problem.endswith(" makes no blocks")
    scenario.layer_one.mine()
    assert await scenario.settler.step(HOUR)
    assert scenario.settler.problem is None
    assert len([text for text in caplog.messages if "makes no blocks" in text]) == 1


@played(embedded)
async def test_a_fee_that_a_revert_of_l1_made_too_low_is_raised_although_l1_makes_no_blocks(
    scenario: Scenario,
) -> None:
    assert isinstance(scenario.layer_one, Embedded)
    scenario.layer_one.chain.configure(BlockSettings(base_fee=50 * GWEI))
    scenario.layer_one.mine()
    checkpoint = scenario.layer_one.checkpoint()
    scenario.layer_one.mine(40)
    scenario.layer_one.mine_on_request()
    scenario.seal_batch(1)
    assert await scenario.settler.step(0.0)
    scenario.layer_one.restore(checkpoint)
    assert (await scenario.l1.fees()).base_fee > max(fees_of(scenario))
    assert not await scenario.settler.step(2.0)
    assert (await scenario.l1.fees()).base_fee <= max(fees_of(scenario))
    scenario.layer_one.mine()
    assert await scenario.settler.step(4.0)
    assert await scenario.totals() == (1, 0, 0)


@played(embedded)
async def test_fees_of_a_transaction_that_stays_stuck_end_at_the_relative_limit(
    scenario: Scenario,
) -> None:
    highest_base = (await scenario.l1.fees()).base_fee
    await send_and_lose(scenario)
    now = 0.0
    while now < HOUR:
        now += 30.0
        assert not await scenario.settler.step(now)
        scenario.pass_over()
    tip = max((await scenario.l1.fees()).tip, GWEI)
    highest, *_, first = fees_of(scenario)
    # The next one would be a quarter higher.
    assert 5 * tip <= highest * 5 / 4
    assert highest <= 5 * (2 * highest_base + tip)
    assert first < highest
    assert len(fees_of(scenario)) < 20
    assert scenario.settler.is_fee_limited(SettlementStep.COMMIT)
    assert scenario.settler.problem is not None
    assert "--l1-fee-multiplier forbids a higher one" in scenario.settler.problem
    assert not await scenario.settler.step(now + 2)
    scenario.layer_one.mine()
    assert await scenario.settler.step(now + 4)
    assert await scenario.totals() == (1, 0, 0)
    assert not scenario.settler.is_fee_limited(SettlementStep.COMMIT)


@played(embedded)
async def test_nothing_is_signed_while_the_base_fee_is_above_the_limit(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = scenario.l1.fees

    async def fees() -> L1Fees:
        return L1Fees(501 * GWEI, GWEI)

    monkeypatch.setattr(scenario.l1, "fees", fees)
    scenario.seal_batch(1)
    with pytest.raises(L1FeeTooHigh, match="--l1-max-fee-gwei"):
        await scenario.settler.step(0.0)
    assert not scenario.is_pending
    monkeypatch.setattr(scenario.l1, "fees", real)
    await scenario.settle()
    assert await scenario.totals() == (1, 1, 1)


@pytest.mark.parametrize("is_restarted", [False, True])
@played(on_disk)
async def test_the_best_attempt_that_can_be_paid_is_sent(
    scenario: Scenario, *, is_restarted: bool
) -> None:
    await send_and_lose(scenario)
    payable, unpayable, beyond_limit = 300 * GWEI, 10**16, 600 * GWEI
    for fee in (payable, unpayable, beyond_limit):
        sign_attempt(scenario, fee)
    if is_restarted:
        scenario.restart()
    assert not await scenario.settler.step(1.0)
    # Every attempt is still there to be followed.
    assert fees_of(scenario)[:3] == [unpayable, beyond_limit, payable]
    expected = scenario.pending().transactions()[2]
    scenario.layer_one.mine()
    assert await scenario.settler.step(2.0)
    done = known(scenario.batches.settled(1, SettlementStep.COMMIT))
    assert done.transaction == expected.hash


@played(embedded)
async def test_a_transaction_is_signed_again_if_no_attempt_can_be_paid(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    await send_and_lose(scenario)
    (first,) = scenario.pending().transactions()
    balance = first.max_cost - 1

    async def poorer(_address: object) -> int:
        return balance

    monkeypatch.setattr(scenario.l1, "balance", poorer)
    assert not await scenario.settler.step(1.0)
    signed, lower = scenario.pending().transactions()
    assert signed == first
    assert lower.max_cost <= balance
    assert lower.nonce == first.nonce
    balance = 1
    with pytest.raises(OperatorOutOfFunds, match=r"has 1e-18 ether on L1"):
        await scenario.settler.step(2.0)
    scenario.layer_one.mine()
    assert await scenario.settler.step(3.0)
    assert await scenario.totals() == (1, 0, 0)
