"""Deposits are executed once and in order, across reorgs, reverts and restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from entresol.errors import LayerOneMismatch, LayerOneUnreachable
from entresol.l1.contracts import Deposit, ZkChain
from entresol.l1.embedded import EmbeddedLayerOne
from entresol.l1.layer_one import LayerOne
from entresol.l1.operator import Operator
from entresol.primitives.transactions import PriorityTransaction
from entresol.rollup.deposits import DepositConfig, DepositWatcher
from tests.support.polling import PATIENCE_SECONDS
from tests.support.rollup.layer_ones import (
    ACCOUNTS,
    MAILBOX,
    Embedded,
    SteeredLayerOne,
    layer_one,
    request_data,
)
from tests.support.rollup.settling_chain import RECEIVER, SettlingChain, deposit


class Scenario:
    """An L1, an L2 and the deposit watcher between them."""

    def __init__(
        self,
        steered: SteeredLayerOne,
        path: Path | None = None,
        config: DepositConfig | None = None,
    ) -> None:
        self.layer_one = steered
        self.l1: LayerOne = steered.l1
        self.config = config
        self.chain = SettlingChain.begin(path)
        self.chain.schedule.seal_at_once()
        self.watcher = self.new_watcher()

    def new_watcher(self) -> DepositWatcher:
        return DepositWatcher(self.chain, ZkChain(self.l1, MAILBOX), self.config)

    async def post(self, *payloads: PriorityTransaction) -> None:
        """Request priority transactions on L1, one a block."""
        operator = Operator(self.l1, ACCOUNTS[0].secret)
        for payload in payloads:
            signed = await operator.sign_call(MAILBOX, request_data(payload))
            await operator.send(signed)
            async with asyncio.timeout(PATIENCE_SECONDS):
                while await self.l1.receipt(signed.hash) is None:
                    pass

    async def has_executed(self, count: int) -> None:
        """Wait until the chain has executed so many priority transactions."""
        sealed = asyncio.Event()
        subscription = self.chain.events.subscribe(wake=sealed.set)
        while len(self.executed()) < count:
            sealed.clear()
            await sealed.wait()
        self.chain.events.unsubscribe(subscription)

    def executed(self) -> list[PriorityTransaction]:
        """Return the executed priority transactions, in order."""
        payloads = []
        for number in range(1, self.chain.number + 1):
            record = self.chain.blocks.record(number)
            for index in range(len(record.transactions)):
                payload = record.transaction(index).payload
                assert isinstance(payload, PriorityTransaction)
                payloads.append(payload)
        return payloads


def run(
    steered: SteeredLayerOne,
    play: Callable[[Scenario], Awaitable[None]],
    config: DepositConfig | None = None,
) -> None:
    async def whole() -> None:
        scenario = Scenario(steered, config=config)
        try:
            await play(scenario)
        finally:
            scenario.chain.close()
            await scenario.l1.close()

    asyncio.run(whole())


DEPOSITS = [deposit(number, value=number + 1) for number in range(6)]
OTHERS = [deposit(number, value=number + 100) for number in range(6)]


def test_deposits_are_executed_once_and_in_order(steered: SteeredLayerOne) -> None:
    async def play(scenario: Scenario) -> None:
        assert await scenario.watcher.step() == 0
        await scenario.post(*DEPOSITS[:3])
        assert await scenario.watcher.step() == 3
        assert await scenario.watcher.step() == 0
        await scenario.post(DEPOSITS[3])
        assert await scenario.watcher.step() == 1
        assert scenario.executed() == DEPOSITS[:4]
        account = scenario.chain.latest.account(RECEIVER)
        assert account is not None
        assert account.balance == 1 + 2 + 3 + 4

    run(steered, play)


def test_a_deposit_waits_for_its_confirmations(steered: SteeredLayerOne) -> None:
    async def play(scenario: Scenario) -> None:
        await scenario.post(DEPOSITS[0])
        assert await scenario.watcher.step() == 0
        scenario.layer_one.mine(2)
        assert await scenario.watcher.step() == 0
        scenario.layer_one.mine(1)
        assert await scenario.watcher.step() == 1

    run(steered, play, DepositConfig(confirmations=3))


def test_a_reorg_of_unconfirmed_blocks_has_no_effect(
    steered: SteeredLayerOne,
) -> None:
    async def play(scenario: Scenario) -> None:
        await scenario.post(DEPOSITS[0])
        scenario.layer_one.mine(2)
        assert await scenario.watcher.step() == 1
        before = scenario.layer_one.checkpoint()
        await scenario.post(DEPOSITS[1])
        assert await scenario.watcher.step() == 0
        scenario.layer_one.restore(before)
        await scenario.post(OTHERS[1])
        scenario.layer_one.mine(2)
        assert await scenario.watcher.step() == 1
        assert scenario.executed() == [DEPOSITS[0], OTHERS[1]]

    run(steered, play, DepositConfig(confirmations=2))


def test_a_reorg_of_confirmed_blocks_with_the_same_deposits_executes_none_twice(
    steered: SteeredLayerOne,
) -> None:
    async def play(scenario: Scenario) -> None:
        before = scenario.layer_one.checkpoint()
        await scenario.post(*DEPOSITS[:2])
        assert await scenario.watcher.step() == 2
        scenario.layer_one.restore(before)
        scenario.layer_one.mine()
        await scenario.post(*DEPOSITS[:3])
        assert await scenario.watcher.step() == 1
        assert scenario.executed() == DEPOSITS[:3]

    run(steered, play)


def test_a_reorg_that_replaces_an_executed_deposit_is_rejected(
    steered: SteeredLayerOne,
) -> None:
    async def play(scenario: Scenario) -> None:
        before = scenario.layer_one.checkpoint()
        await scenario.post(DEPOSITS[0])
        await scenario.watcher.step()
        scenario.layer_one.restore(before)
        scenario.layer_one.mine()
        await scenario.post(OTHERS[0], DEPOSITS[1])
        with pytest.raises(LayerOneMismatch, match=r"deposit 0 on .* is not the one in block 1"):
            await scenario.watcher.step()
        assert scenario.executed() == DEPOSITS[:1]

    run(steered, play)


def test_a_reorg_that_removes_deposits_is_rejected(steered: SteeredLayerOne) -> None:
    async def play(scenario: Scenario) -> None:
        before = scenario.layer_one.checkpoint()
        await scenario.post(*DEPOSITS[:2])
        await scenario.watcher.step()
        scenario.layer_one.restore(before)
        scenario.layer_one.mine(3)
        with pytest.raises(LayerOneMismatch, match="has sent 0 transactions, but this chain has 2"):
            await scenario.watcher.step()

    run(steered, play)


def test_a_missing_deposit_blocks_later_ones(steered: SteeredLayerOne) -> None:
    async def play(scenario: Scenario) -> None:
        await scenario.post(DEPOSITS[0], DEPOSITS[2])
        for _ in range(2):
            with pytest.raises(LayerOneMismatch, match="deposit 1 is missing"):
                await scenario.watcher.step()
        assert [it.payload for it in scenario.chain.producer.priority] == DEPOSITS[:1]

    run(steered, play)


def test_reverted_deposits_are_executed_again(steered: SteeredLayerOne) -> None:
    async def play(scenario: Scenario) -> None:
        await scenario.post(DEPOSITS[0])
        await scenario.watcher.step()
        before = scenario.chain.checkpoint()
        await scenario.post(*DEPOSITS[1:3])
        await scenario.watcher.step()
        scenario.chain.restore(before)
        assert await scenario.watcher.step() == 2
        assert scenario.executed() == DEPOSITS[:3]

    run(steered, play)


def test_a_pending_deposit_is_not_enqueued_again(steered: SteeredLayerOne) -> None:
    async def play(scenario: Scenario) -> None:
        scenario.chain.schedule.seal_on_request()
        await scenario.post(*DEPOSITS[:2])
        assert await scenario.watcher.step() == 2
        await scenario.post(DEPOSITS[2])
        assert await scenario.new_watcher().step() == 1
        assert scenario.executed() == []
        scenario.chain.seal()
        assert scenario.executed() == DEPOSITS[:3]

    run(steered, play)


def test_a_restart_continues_after_the_last_executed_deposit(
    steered: SteeredLayerOne, tmp_path: Path
) -> None:
    async def whole() -> None:
        scenario = Scenario(steered, tmp_path / "chain")
        await scenario.post(*DEPOSITS[:2])
        await scenario.watcher.step()
        # These are enqueued, but in no block when the process ends.
        scenario.chain.schedule.seal_on_request()
        await scenario.post(*DEPOSITS[2:4])
        assert await scenario.watcher.step() == 2
        scenario.chain.close()
        again = Scenario(steered, tmp_path / "chain")
        await again.post(DEPOSITS[4])
        assert await again.watcher.step() == 3
        assert again.executed() == DEPOSITS[:5]
        again.chain.close()
        await again.l1.close()

    asyncio.run(whole())


def test_a_restart_continues_from_the_stored_cursor(tmp_path: Path) -> None:
    ranges: list[tuple[int, int]] = []

    class RecordingZkChain(ZkChain):
        async def deposits(self, first: int, last: int) -> list[Deposit]:
            ranges.append((first, last))
            return await super().deposits(first, last)

    async def whole(steered: SteeredLayerOne) -> None:
        scenario = Scenario(steered, tmp_path / "chain")
        await scenario.post(*DEPOSITS[:3])
        await scenario.watcher.step()
        scenario.chain.close()
        again = Scenario(steered, tmp_path / "chain")
        await again.post(DEPOSITS[3])
        contract = RecordingZkChain(steered.l1, MAILBOX)
        assert await DepositWatcher(again.chain, contract).step() == 1
        again.chain.close()

    with layer_one("embedded") as steered:
        asyncio.run(whole(steered))
    assert ranges == [(4, 4)]


class Unreliable(EmbeddedLayerOne):
    """An embedded L1 that is unreachable at times."""

    failures = 0
    missed = False

    async def block_number(self) -> int:
        self.missed = self.failures > 0
        if self.missed:
            self.failures -= 1
            raise LayerOneUnreachable(self.name, "gone fishing")
        return await super().block_number()

    async def wait_for_block(self, seconds: float) -> None:
        await super().wait_for_block(0.0 if self.missed else seconds)


def test_run_retries_while_l1_is_unreachable(caplog: pytest.LogCaptureFixture) -> None:
    async def whole() -> None:
        steered = Embedded()
        l1 = Unreliable(steered.chain)
        steered.l1 = l1
        scenario = Scenario(steered)
        await scenario.post(*DEPOSITS[:2])
        l1.failures = 3
        running = asyncio.create_task(scenario.watcher.run())
        async with asyncio.timeout(PATIENCE_SECONDS):
            await scenario.has_executed(2)
            # The next block wakes it before its polling interval ends.
            await scenario.post(DEPOSITS[2])
            await scenario.has_executed(3)
        running.cancel()
        assert scenario.watcher.problem is None
        scenario.chain.close()
        steered.chain.close()

    asyncio.run(whole())
    logged = [it for it in caplog.records if "gone fishing" in it.getMessage()]
    assert [it.levelname for it in logged] == ["WARNING"]
