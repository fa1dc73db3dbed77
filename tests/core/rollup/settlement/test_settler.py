"""Settlement with the real contracts: commit, prove, execute, crashes, reverts and reorgs."""

from __future__ import annotations

import asyncio

import pytest

from entresol.errors import LayerOneMismatch, LayerOneRejected
from entresol.l1.contracts import BatchTotals
from entresol.l1.operator import Operator, SignedTransaction
from entresol.primitives import abi
from entresol.primitives.batches import SettlementStep
from entresol.primitives.transactions import decode
from entresol.rollup.batches import stored_info_of
from entresol.rollup.settlement.settler import SettlementConfig
from tests.support.chain.steering import revert
from tests.support.known import known
from tests.support.played import played
from tests.support.rollup.settlement_scenario import (
    OPERATOR,
    Scenario,
    embedded,
    on_disk,
    run,
    send,
)
from tests.support.rollup.settling_chain import CHAIN_ID, RECEIVER


@played(run)
async def test_a_batch_is_committed_proven_and_executed(scenario: Scenario) -> None:
    scenario.seal_batch(1, 2)
    await scenario.settle()
    assert await scenario.totals() == (1, 1, 1)
    batch = scenario.batcher.last
    chain = scenario.contracts.chain
    assert await chain.message_root(1) == batch.message_root
    assert await chain.stored_batch_hash(1) == stored_info_of(batch, CHAIN_ID).hash()
    done = [scenario.batches.settled(1, step) for step in SettlementStep]
    receipts = [await scenario.l1.receipt(it.transaction) for it in done if it is not None]
    assert [receipt.succeeded for receipt in receipts if receipt is not None] == [True] * 3
    assert [it.block for it in done if it] == [
        receipt.block_number for receipt in receipts if receipt
    ]
    assert scenario.settler.stopped is None
    assert not scenario.is_pending


@played(embedded)
async def test_commit_makes_blocks_safe_and_execution_makes_them_final(scenario: Scenario) -> None:
    scenario.seal_batch(1)
    scenario.chain.builder.seal()
    assert await scenario.settler.step(0.0)
    assert await scenario.settler.step(0.0)
    await scenario.settler.step(0.0)
    assert (scenario.chain.finality.safe, scenario.chain.finality.finalized) == (1, 0)
    await scenario.settle()
    assert (scenario.chain.finality.safe, scenario.chain.finality.finalized) == (1, 1)


@played(run, config=SettlementConfig(max_batches=3))
async def test_many_batches_are_proven_and_executed_together(scenario: Scenario) -> None:
    for number in range(5):
        scenario.seal_batch(number)
    before = await scenario.l1.nonce(OPERATOR.address)
    await scenario.settle()
    assert await scenario.totals() == (5, 5, 5)
    # Three batches at a time: 3 commits, a proof, an execution, and the rest likewise.
    assert await scenario.l1.nonce(OPERATOR.address) - before == 5 + 2 + 2


@played(embedded)
async def test_one_transaction_executes_no_more_deposits_than_the_maximum(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("entresol.rollup.settlement.step_sender.MAX_PRIORITY_TRANSACTIONS", 2)
    for deposits in (1, 1, 1, 3, 0, 1):
        for _ in range(deposits):
            await scenario.contracts.deposit(RECEIVER, 1)
        await scenario.watcher.step()
        scenario.seal_batch(1)
    await scenario.settle()
    assert await scenario.totals() == (6, 6, 6)
    done = [scenario.batches.settled(number, SettlementStep.EXECUTE) for number in range(1, 7)]
    by = [it.transaction for it in done if it is not None]
    assert [by.index(it) + 1 for it in by] == [1, 1, 3, 4, 5, 5]


class CrashError(Exception):
    """The process ended."""


@pytest.mark.parametrize("sent", [False, True])
@played(on_disk)
async def test_a_crash_while_sending_sends_the_same_transaction_again(
    scenario: Scenario, sent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario.seal_batch(1)
    real = scenario.l1.send

    async def crash(raw: bytes) -> None:
        if sent:
            await real(raw)
        raise CrashError

    monkeypatch.setattr(scenario.l1, "send", crash)
    with pytest.raises(CrashError):
        await scenario.settler.step(0.0)
    planned = scenario.pending().transactions()[0]
    monkeypatch.setattr(scenario.l1, "send", real)
    scenario.restart()
    await scenario.settle()
    assert await scenario.totals() == (1, 1, 1)
    done = known(scenario.batches.settled(1, SettlementStep.COMMIT))
    assert done.transaction == planned.hash


@played(run)
async def test_a_dropped_transaction_is_sent_again_unchanged(scenario: Scenario) -> None:
    scenario.layer_one.mine_on_request()
    before = scenario.layer_one.checkpoint()
    scenario.seal_batch(1)
    assert await scenario.settler.step(0.0)
    sent = scenario.pending().attempts
    scenario.layer_one.restore(before)
    assert not await scenario.settler.step(0.5)
    assert not await scenario.settler.step(1.0)
    scenario.layer_one.mine()
    assert await scenario.settler.step(1.5)
    done = known(scenario.batches.settled(1, SettlementStep.COMMIT))
    assert [decode(raw).hash for raw in sent] == [done.transaction]


@played(run)
async def test_a_step_that_would_revert_stops_settlement_with_its_reason(
    scenario: Scenario, caplog: pytest.LogCaptureFixture
) -> None:
    contracts = scenario.contracts
    forbid = abi.encode_call(
        "removeValidator(address,address)", contracts.chain.address, OPERATOR.address
    )
    await send(scenario.l1, contracts.owner, contracts.timelock, forbid)
    scenario.seal_batch(1)
    await scenario.settle()
    assert scenario.settler.stopped is not None
    assert "commit of batch 1 failed: Unauthorized(0x" in scenario.settler.stopped
    assert not await scenario.settler.step(0.0)
    assert await scenario.totals() == (0, 0, 0)
    # The chain continues, and settlement does after a start, once the cause is removed.
    scenario.seal_batch(2)
    allow = abi.encode_call(
        "addValidator(address,address)", contracts.chain.address, OPERATOR.address
    )
    await send(scenario.l1, contracts.owner, contracts.timelock, allow)
    scenario.settler = scenario.new_settler()
    await scenario.settle()
    assert await scenario.totals() == (2, 2, 2)
    assert [
        record.levelname for record in caplog.records if "settlement stopped" in record.getMessage()
    ] == ["ERROR"]


@played(run)
async def test_an_included_transaction_that_reverted_stops_settlement_with_its_reason(
    scenario: Scenario,
) -> None:
    contracts = scenario.contracts
    scenario.seal_batch(1)
    scenario.layer_one.mine_on_request()
    forbid = abi.encode_call(
        "removeValidator(address,address)", contracts.chain.address, OPERATOR.address
    )
    assert await scenario.settler.step(0.0)
    owner = Operator(scenario.l1, contracts.owner.secret)
    # A higher fee, so that it is first in the block.
    signed = await owner.sign_call(contracts.timelock, forbid)
    for _ in range(2):
        replacement = await owner.sign_replacement(signed)
        assert isinstance(replacement, SignedTransaction)
        signed = replacement
    await owner.send(signed)
    scenario.layer_one.mine()
    assert await scenario.settler.step(1.0)
    assert scenario.settler.stopped is not None
    assert "commit of batch 1 failed" in scenario.settler.stopped
    assert not scenario.is_pending
    assert await scenario.totals() == (0, 0, 0)


@played(embedded)
async def test_a_batch_that_is_too_young_to_be_executed_is_retried(scenario: Scenario) -> None:
    contracts = scenario.contracts
    delay = abi.encode_call("setExecutionDelay(uint32)", 5)
    await send(scenario.l1, contracts.owner, contracts.timelock, delay)
    scenario.seal_batch(1)
    with pytest.raises(LayerOneRejected, match="TimeNotReached"):
        await scenario.settle()
    assert scenario.settler.stopped is None
    scenario.layer_one.mine(5)
    await scenario.settle()
    assert await scenario.totals() == (1, 1, 1)


@played(embedded)
async def test_a_revert_below_a_settled_batch_stops_settlement_with_its_reason(
    scenario: Scenario,
) -> None:
    before, below = scenario.chain.history.mark(), scenario.layer_one.checkpoint()
    scenario.seal_batch(1)
    await scenario.settle()
    revert(scenario.chain, before)
    with pytest.raises(LayerOneMismatch, match="has 1 batch, and this chain 0"):
        await scenario.settler.step(0.0)
    scenario.seal_batch(2)
    with pytest.raises(LayerOneMismatch, match="batch 1 on the embedded L1 is not this chain's"):
        await scenario.settler.step(0.0)
    # After a reorg of L1 to the same point, settlement continues.
    scenario.layer_one.restore(below)
    await scenario.settle()
    assert await scenario.totals() == (1, 1, 1)


@played(embedded)
async def test_a_revert_removes_the_pending_transaction_of_its_batches(scenario: Scenario) -> None:
    scenario.layer_one.mine_on_request()
    before = scenario.chain.history.mark()
    scenario.seal_batch(1)
    await scenario.settler.step(0.0)
    assert scenario.is_pending
    revert(scenario.chain, before)
    assert not scenario.is_pending


@played(run)
async def test_a_single_step_can_be_done_by_hand(scenario: Scenario) -> None:
    scenario.seal_batch(1)
    done = await scenario.settler.settle(SettlementStep.COMMIT, 1)
    assert await scenario.contracts.chain.totals() == BatchTotals(1, 0, 0)
    assert await scenario.settler.settle(SettlementStep.COMMIT, 1) == done
    with pytest.raises(LayerOneMismatch, match="execute of batch 1 failed: CantExecuteUnproven"):
        await scenario.settler.settle(SettlementStep.EXECUTE, 1)


@played(run)
async def test_a_step_by_hand_is_taken_again_after_a_reorg_removed_it(scenario: Scenario) -> None:
    scenario.seal_batch(1)
    before = scenario.layer_one.checkpoint()
    await scenario.settler.settle(SettlementStep.COMMIT, 1)
    scenario.layer_one.restore(before)
    again = await scenario.settler.settle(SettlementStep.COMMIT, 1)
    assert await scenario.contracts.chain.totals() == BatchTotals(1, 0, 0)
    assert await scenario.l1.receipt(again.transaction) is not None


@played(run, config=SettlementConfig(is_on_request=True))
async def test_settlement_on_request_follows_l1_and_sends_nothing(scenario: Scenario) -> None:
    scenario.seal_batch(1)
    scenario.seal_batch(2)
    before = scenario.layer_one.checkpoint()
    await scenario.settler.settle(SettlementStep.COMMIT, 1)
    running = asyncio.create_task(scenario.settler.run())
    scenario.layer_one.restore(before)
    async with asyncio.timeout(30):
        while scenario.chain.finality.safe:
            scenario.settler.wake()
            await asyncio.sleep(0)
    running.cancel()
    assert scenario.batches.last_settled(SettlementStep.COMMIT) == 0
    assert await scenario.contracts.chain.totals() == BatchTotals(0, 0, 0)
    assert not scenario.is_pending


@played(embedded)
async def test_no_batch_from_a_root_on_that_l1_has_replaced_is_committed(
    scenario: Scenario,
) -> None:
    for number in range(3):
        scenario.seal_batch(number)
    contradicted: list[int] = [2]
    scenario.settler = scenario.new_settler(
        contradicted_block=lambda: next(iter(contradicted), None)
    )
    await scenario.settle()
    assert await scenario.totals() == (1, 1, 1)
    with pytest.raises(LayerOneMismatch, match="batch 2 imports a root that L1 has replaced"):
        await scenario.settler.settle(SettlementStep.COMMIT, 2)
    contradicted.clear()
    await scenario.settle()
    assert await scenario.totals() == (3, 3, 3)
