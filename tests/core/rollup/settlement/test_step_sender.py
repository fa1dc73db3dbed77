"""Settlement with a key for each step: who sends what, what waits for what, and what a change of keys leaves."""

from __future__ import annotations

import contextlib
import itertools
import logging
from collections.abc import Iterator
from contextlib import closing

import pytest

from entresol.errors import LayerOneUnreachable, OperatorOutOfFunds
from entresol.l1.contracts import BatchTotals
from entresol.l1.operator import OperatorKeys
from entresol.primitives.batches import SettlementStep
from entresol.primitives.transactions import decode
from entresol.primitives.values import Address, Hash32
from entresol.rollup.settlement.pending_tx import PendingSettlement
from entresol.rollup.settlement.settler import SettlementConfig
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.known import known
from tests.support.played import played
from tests.support.rollup.layer_ones import ACCOUNTS, Embedded, EventfulLayerOne, SteeredLayerOne
from tests.support.rollup.settlement_scenario import (
    ONE_KEY,
    THREE_KEYS,
    Scenario,
    embedded,
    on_disk,
    run,
)

COMMIT, PROVE, EXECUTE = SettlementStep
COMMITTER, PROVER, EXECUTOR = (key.address for key in THREE_KEYS.keys)
TWO_KEYS = OperatorKeys.of(ACCOUNTS[1].secret, ACCOUNTS[2].secret)


def pending_steps(scenario: Scenario) -> dict[SettlementStep, Address]:
    pending = {step: scenario.settler.pending(step) for step in SettlementStep}
    return {step: it.sender for step, it in pending.items() if it is not None}


async def pending_proof(scenario: Scenario) -> PendingSettlement:
    """Commit a batch, leave its proof pending, and return it."""
    assert isinstance(scenario.layer_one, Embedded)
    scenario.seal_batch(1)
    scenario.layer_one.mine_on_request()
    await scenario.settler.step(0.0)
    scenario.layer_one.mine()
    while (proof := scenario.settler.pending(PROVE)) is None:
        await scenario.settler.step(0.5)
    return proof


async def nonces(scenario: Scenario) -> list[int]:
    """Return how many transactions each key has sent."""
    return [await scenario.l1.nonce(it) for it in (COMMITTER, PROVER, EXECUTOR)]


@contextlib.contextmanager
def without_ether(scenario: Scenario, account: Address) -> Iterator[None]:
    real = scenario.l1.balance

    async def balance(address: Address) -> int:
        return 0 if address == account else await real(address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scenario.l1, "balance", balance)
        yield


@pytest.mark.parametrize("keys", [ONE_KEY, TWO_KEYS, THREE_KEYS], ids=["one", "two", "three"])
def test_each_step_is_sent_by_its_key(steered: SteeredLayerOne, keys: OperatorKeys) -> None:
    async def play(scenario: Scenario) -> None:
        for number in range(5):
            scenario.seal_batch(number)
        while await scenario.settler.step(0.0) or scenario.is_pending:
            assert len(set(pending_steps(scenario).values())) == len(pending_steps(scenario))
        assert await scenario.totals() == (5, 5, 5)
        transactions: dict[Address, set[Hash32]] = {
            it: set() for it in (COMMITTER, PROVER, EXECUTOR)
        }
        for key, number in itertools.product(keys.keys, range(1, 6)):
            done = [scenario.batches.settled(number, step) for step in key.steps]
            transactions[key.address] |= {it.transaction for it in done if it is not None}
        # Each had an effect, and there is no other.
        assert [len(transaction) for transaction in transactions.values()] == await nonces(scenario)

    run(steered, play, keys=keys)


@played(embedded, keys=THREE_KEYS)
async def test_keys_work_at_the_same_time_and_wait_for_what_they_build_on(
    scenario: Scenario,
) -> None:
    scenario.layer_one.mine_on_request()
    scenario.seal_batch(1)
    scenario.seal_batch(2)
    await scenario.settler.step(0.0)
    assert pending_steps(scenario) == {COMMIT: COMMITTER}
    await scenario.settler.step(0.5)
    assert pending_steps(scenario) == {COMMIT: COMMITTER}
    scenario.layer_one.mine()
    for _ in range(2):
        await scenario.settler.step(1.0)
    assert pending_steps(scenario) == {COMMIT: COMMITTER, PROVE: PROVER}
    scenario.layer_one.mine()
    assert await scenario.totals() == (2, 1, 0)
    for _ in range(2):
        await scenario.settler.step(2.0)
    assert pending_steps(scenario) == {PROVE: PROVER, EXECUTE: EXECUTOR}
    scenario.layer_one.mine()
    assert await scenario.totals() == (2, 2, 1)


@played(embedded, keys=THREE_KEYS, config=SettlementConfig(max_batches=4))
async def test_a_key_without_funds_does_not_stop_the_steps_of_others(
    scenario: Scenario, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "entresol.rollup")
    for number in range(6):
        scenario.seal_batch(number)
    with without_ether(scenario, EXECUTOR):
        for _ in range(30):
            await scenario.settler.step(0.0)
    # No more batches are committed than may wait for their execution.
    assert await scenario.totals() == (4, 4, 0)
    expected = f"the operator that executes, {EXECUTOR.checksummed()}, has 0 ether on L1"
    assert scenario.settler.problem is not None
    assert expected in scenario.settler.problem
    assert sum(expected in message for message in caplog.messages) == 1
    await scenario.settle()
    assert await scenario.totals() == (6, 6, 6)
    assert scenario.settler.problem is None


@played(embedded)
async def test_a_failure_of_all_keys_is_raised(scenario: Scenario) -> None:
    scenario.seal_batch(1)
    with (
        without_ether(scenario, COMMITTER),
        pytest.raises(OperatorOutOfFunds, match=r"^the operator, 0x\w+, has 0 ether"),
    ):
        await scenario.settler.step(0.0)


@played(embedded, keys=THREE_KEYS)
async def test_a_step_by_hand_raises_what_its_own_key_fails_with(scenario: Scenario) -> None:
    scenario.layer_one.mine_on_request()
    scenario.seal_batch(1)
    await scenario.settler.step(0.0)
    scenario.pass_over()
    with (
        without_ether(scenario, COMMITTER),
        pytest.raises(OperatorOutOfFunds, match="the operator that commits"),
    ):
        await scenario.settler.settle(COMMIT, 1, lambda: 30.0)


@played(embedded, keys=THREE_KEYS)
async def test_an_l1_that_is_unreachable_is_no_problem_of_one_key(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario.seal_batch(1)

    async def gone(*_arguments: object) -> int:
        raise LayerOneUnreachable("http://l1", "gone")

    monkeypatch.setattr(scenario.l1, "nonce", gone)
    with pytest.raises(LayerOneUnreachable):
        await scenario.settler.step(0.0)
    assert scenario.settler.problem is None


@pytest.mark.parametrize("is_mined", [False, True])
@pytest.mark.parametrize(
    ("before", "after"), [(ONE_KEY, THREE_KEYS), (THREE_KEYS, ONE_KEY)], ids=["one", "three"]
)
@played(on_disk, keys=THREE_KEYS)
async def test_what_is_pending_when_the_keys_change_is_settled_once(
    scenario: Scenario, before: OperatorKeys, after: OperatorKeys, *, is_mined: bool
) -> None:
    assert isinstance(scenario.layer_one, Embedded)
    scenario.keys = before
    scenario.restart()
    old = await pending_proof(scenario)
    assert old.sender == (COMMITTER if before is ONE_KEY else PROVER)
    if is_mined:
        scenario.layer_one.mine()
    scenario.keys = after
    scenario.restart()
    await scenario.settler.step(1.0)
    scenario.layer_one.chain.schedule.seal_at_once()
    scenario.layer_one.mine()
    await scenario.settle()
    assert await scenario.totals() == (1, 1, 1)
    assert scenario.settler.stopped is None
    done = known(scenario.batches.settled(1, PROVE))
    assert not is_mined or done.transaction == old.transactions()[0].hash


def test_a_proof_waits_for_a_commit_that_a_reorg_removed() -> None:
    steered = Embedded()
    steered.l1 = eventful = EventfulLayerOne(steered.l1)

    async def play(scenario: Scenario) -> None:
        before = steered.checkpoint()
        proof = await pending_proof(scenario)
        steered.restore(before)
        eventful.sent.clear()
        for now in range(2, 6):
            await scenario.settler.step(float(now))
        # It would revert on its own.
        assert {decode(raw).sender for raw in eventful.sent} == {COMMITTER}
        assert scenario.settler.pending(PROVE) == proof
        steered.mine()
        for now in range(6, 9):
            await scenario.settler.step(float(now))
        steered.mine()
        await scenario.settler.step(9.0)
        done = known(scenario.batches.settled(1, PROVE))
        assert done.transaction == proof.transactions()[0].hash

    with closing(steered.chain):
        run(steered, play, keys=THREE_KEYS)


@played(embedded, keys=THREE_KEYS)
async def test_a_proof_that_a_reorg_puts_before_its_commit_does_not_stop_settlement(
    scenario: Scenario, caplog: pytest.LogCaptureFixture
) -> None:
    l1 = scenario.layer_one
    assert isinstance(l1, Embedded)
    before = l1.checkpoint()
    (proof,) = (await pending_proof(scenario)).attempts
    ((commit, _sender),) = l1.chain.blocks.record(l1.chain.number).transactions
    l1.restore(before)
    for raw in (proof, commit):
        InlineSequencer(l1.chain).submit(raw)
        l1.mine()
    assert await scenario.contracts.chain.totals() == BatchTotals(1, 0, 0)
    await scenario.settler.step(1.0)
    assert "prove of batch 1 failed because of a reorg of L1" in caplog.text
    l1.chain.schedule.seal_at_once()
    await scenario.settle()
    assert await scenario.totals() == (1, 1, 1)
    assert scenario.settler.stopped is None
