"""How settlement transactions are found on L1, and from which block on."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import msgspec
import pytest

from entresol.chain.chain import Chain
from entresol.errors import LayerOneMismatch
from entresol.l1.embedded import EmbeddedLayerOne
from entresol.l1.layer_one import DEFAULT_SENDER, MAX_REORG_DEPTH, L1Block, L1Log, L1Receipt
from entresol.primitives.abi import encode_call
from entresol.primitives.batches import SettlementStep
from entresol.primitives.values import Address, Hash32
from entresol.rollup.settlement.settler import SettlementConfig
from entresol.sequencer.sequencer import Sequencer
from tests.support.known import known
from tests.support.played import played
from tests.support.rollup.layer_ones import Embedded, LyingLayerOne, layer_one
from tests.support.rollup.settlement_scenario import Scenario, embedded, run

T = TypeVar("T")


def beside(
    play: Callable[[Scenario], Awaitable[None]],
    kind: type[EmbeddedLayerOne],
    config: SettlementConfig | None = None,
) -> None:
    """Play a scenario on an embedded L1 that responds otherwise."""
    with layer_one("embedded") as steered:
        assert isinstance(steered, Embedded)
        steered.l1 = kind(steered.chain, steered.sequencer)
        run(steered, play, config=config)


class LyingOnce(EmbeddedLayerOne):
    """An embedded L1 that gives one wrong receipt, block or log."""

    lie: str | None = None

    async def receipt(self, transaction_hash: Hash32) -> L1Receipt | None:
        found = await super().receipt(transaction_hash)
        return self._told("receipt", found, gas_used=7)

    async def block(self, number: int) -> L1Block | None:
        return self._told("block", await super().block(number), timestamp=7)

    async def logs(
        self, address: Address, topics: Sequence[Hash32], first: int, last: int
    ) -> list[L1Log]:
        found = await super().logs(address, topics, first, last)
        other = self._chain.blocks.record(1).transaction(0).hash
        return [self._told("logs", log, transaction_hash=other) for log in found]

    async def call(
        self,
        to: Address,
        data: bytes,
        *,
        sender: Address = DEFAULT_SENDER,
        block: int | Hash32 | None = None,
    ) -> bytes:
        """Return the result of a call, perhaps that nothing is executed."""
        found = await super().call(to, data, sender=sender, block=block)
        if self.lie != "totals" or data != encode_call("getTotalBatchesExecuted()"):
            return found
        self.lie = None
        return bytes(32)

    def _told(self, name: str, found: T, **wrong: object) -> T:
        if self.lie != name or not isinstance(found, msgspec.Struct):
            return found
        self.lie = None
        return msgspec.structs.replace(found, **wrong)


@pytest.mark.parametrize("lie", ["receipt", "block", "logs"])
@played(beside, kind=LyingOnce)
async def test_one_wrong_response_is_not_recorded_as_what_settled_a_batch(
    scenario: Scenario, lie: str
) -> None:
    l1 = scenario.l1
    assert isinstance(l1, LyingOnce)
    scenario.seal_batch(1)
    await scenario.settle()
    truth = [scenario.batches.settled(1, step) for step in SettlementStep]
    for step in SettlementStep:
        scenario.batches.revert_settlement([1], step)
        settler = scenario.new_settler()
        l1.lie = lie
        with contextlib.suppress(LayerOneMismatch):
            await settler.step(0.0)
        assert not l1.lie
        assert scenario.batches.settled(1, step) in {None, truth[step]}
        await settler.step(0.0)
    assert [scenario.batches.settled(1, step) for step in SettlementStep] == truth


@played(beside, kind=LyingOnce)
async def test_one_wrong_total_takes_nothing_back(
    scenario: Scenario, caplog: pytest.LogCaptureFixture
) -> None:
    l1 = scenario.l1
    assert isinstance(l1, LyingOnce)
    for message in (1, 2):
        scenario.seal_batch(message)
        await scenario.settle()
    truth = [scenario.batches.settled(number, SettlementStep.EXECUTE) for number in (1, 2)]
    for settler in (scenario.settler, scenario.new_settler()):
        l1.lie = "totals"
        await settler.step(0.0)
        assert not l1.lie
        found = [scenario.batches.settled(number, SettlementStep.EXECUTE) for number in (1, 2)]
        assert found == truth
        assert scenario.chain.finality.finalized == scenario.chain.number
    assert "reverted the execute" not in caplog.text


class RecordingLayerOne(EmbeddedLayerOne):
    """An embedded L1 that records from which block on it is searched."""

    def __init__(self, chain: Chain, sequencer: Sequencer) -> None:
        super().__init__(chain, sequencer)
        self.searched: list[int] = []

    async def logs(
        self, address: Address, topics: Sequence[Hash32], first: int, last: int
    ) -> list[L1Log]:
        self.searched.append(first)
        return await super().logs(address, topics, first, last)


@played(beside, kind=RecordingLayerOne)
async def test_a_step_by_another_account_is_searched_near_the_step_before_it(
    scenario: Scenario,
) -> None:
    l1 = scenario.l1
    assert isinstance(l1, RecordingLayerOne)
    scenario.seal_batch(1)
    await scenario.settle()
    scenario.layer_one.mine(300)
    scenario.seal_batch(2)
    await scenario.settle()
    for step in SettlementStep:
        scenario.batches.revert_settlement([1, 2], step)
    contract = scenario.contracts.chain
    contract.first_block = 5
    l1.searched.clear()
    await scenario.new_settler().step(0.0)
    first = [scenario.batches.settled(1, step) for step in SettlementStep]
    expected = [max(5, it.block - MAX_REORG_DEPTH) for it in first if it is not None]
    # Per step: the first batch from the deployment on, the second one from the first one on.
    # Each twice: what is found is recorded for good.
    once = [5, expected[0], 5, expected[1], 5, expected[2]]
    assert l1.searched == [first for first in once for _ in range(2)]
    assert all(scenario.batches.settled(2, step) for step in SettlementStep)


@played(embedded)
async def test_a_step_that_is_not_near_the_one_before_it_is_searched_everywhere(
    scenario: Scenario,
) -> None:
    scenario.seal_batch(1)
    scenario.seal_batch(2)
    await scenario.settle()
    head = await scenario.l1.block_number()
    recorded = known(scenario.batches.settled(1, SettlementStep.COMMIT))
    scenario.layer_one.mine(100)
    wrong = recorded._replace(block=head + 100)
    scenario.batches.update_settlement([1], SettlementStep.COMMIT, wrong)
    scenario.batches.revert_settlement([2], SettlementStep.COMMIT)
    await scenario.new_settler().step(0.0)
    assert scenario.batches.settled(2, SettlementStep.COMMIT) is not None


@pytest.mark.parametrize("mined", [1, 2 * MAX_REORG_DEPTH])
@played(embedded)
async def test_steps_that_a_reorg_moved_are_found_however_many_blocks_l1_has_made_since(
    scenario: Scenario, mined: int
) -> None:
    layer = scenario.layer_one
    assert isinstance(layer, Embedded)
    before, first = layer.checkpoint(), layer.chain.number + 1
    scenario.seal_batch(1)
    await scenario.settle()
    records = [record for record in layer.chain.blocks.records() if record.header().number >= first]
    sent = [raw for record in records for raw, _ in record.transactions]
    layer.restore(before)
    layer.mine()
    for raw in sent:
        await scenario.l1.send(raw)
    layer.mine(mined)
    await scenario.settle()
    for step in SettlementStep:
        recorded = known(scenario.batches.settled(1, step))
        receipt = known(await scenario.l1.receipt(recorded.transaction))
        assert recorded.block == receipt.block_number


@played(beside, kind=LyingLayerOne, config=SettlementConfig(finality="finalized"))
async def test_blocks_are_final_once_l1_finalized_their_settlement(scenario: Scenario) -> None:
    l1 = scenario.l1
    assert isinstance(l1, LyingLayerOne)
    l1.finalized = 0
    scenario.seal_batch(1)
    await scenario.settle()
    assert (scenario.chain.finality.safe, scenario.chain.finality.finalized) == (0, 0)
    l1.finalized = await l1.block_number()
    await scenario.settle()
    assert (scenario.chain.finality.safe, scenario.chain.finality.finalized) == (1, 1)


@played(beside, kind=LyingLayerOne)
async def test_an_l1_that_shows_a_block_before_it_is_mined_is_read_again(
    scenario: Scenario,
) -> None:
    assert isinstance(scenario.l1, LyingLayerOne)
    scenario.seal_batch(1)
    while (await scenario.totals())[0] == 0:
        await scenario.settler.step(0.0)
    scenario.l1.early_calls = 3
    await scenario.settle()
    assert await scenario.totals() == (1, 1, 1)


@played(embedded)
async def test_gas_that_was_not_recorded_is_filled_in_and_is_no_reorg(
    scenario: Scenario, caplog: pytest.LogCaptureFixture
) -> None:
    scenario.seal_batch(1)
    await scenario.settle()
    recorded = {step: scenario.batches.settled(1, step) for step in SettlementStep}
    for step, by in recorded.items():
        assert by is not None
        scenario.batches.update_settlement([1], step, by._replace(gas_used=None))
    with caplog.at_level(logging.DEBUG):
        await scenario.new_settler().step(0.0)
    assert {step: scenario.batches.settled(1, step) for step in SettlementStep} == recorded
    assert "reorg" not in caplog.text
