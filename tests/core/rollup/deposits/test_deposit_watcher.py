"""Deposits are executed once and in order, across reorgs, reverts and restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec
import pytest

from entresol.errors import LayerOneMismatch, MalformedTransaction
from entresol.l1.contracts import Deposit, ZkChain
from entresol.l1.embedded import EmbeddedLayerOne
from entresol.l1.layer_one import DEFAULT_SENDER, MAX_REORG_DEPTH, L1Finality, LayerOne
from entresol.l1.operator import Operator
from entresol.primitives.abi import encode_call
from entresol.primitives.transactions import PriorityTransaction
from entresol.primitives.values import Address, Hash32
from entresol.rollup.deposits.deposit_watcher import DepositConfig, DepositWatcher
from entresol.sequencer.sequencer import InlineSequencer
from entresol.storage.batch_table import DepositCursor
from tests.support.chain.steering import revert
from tests.support.known import known
from tests.support.played import played
from tests.support.polling import PATIENCE_SECONDS
from tests.support.rollup.layer_ones import (
    ACCOUNTS,
    MAILBOX,
    Embedded,
    EventfulLayerOne,
    LyingLayerOne,
    SteeredLayerOne,
    layer_one,
    request_data,
)
from tests.support.rollup.settling_chain import RECEIVER, SettlingChain, deposit


class Scenario:
    """An L1, an L2 and the deposit watcher between them."""

    def __init__(
        self, steered: SteeredLayerOne, path: Path | None, config: DepositConfig | None
    ) -> None:
        self.layer_one = steered
        self.l1: LayerOne = steered.l1
        self.config = config
        self.path = path
        self.open()

    def open(self) -> None:
        self.chain = SettlingChain.begin(self.path)
        self.chain.schedule.seal_at_once()
        self.watcher = self.new_watcher()

    def restart(self) -> None:
        self.chain.close()
        self.open()

    def new_watcher(self, contract: ZkChain | None = None) -> DepositWatcher:
        contract = contract or ZkChain(self.l1, MAILBOX)
        return DepositWatcher(self.chain, InlineSequencer(self.chain), contract, self.config)

    async def post(self, *payloads: PriorityTransaction) -> None:
        """Request priority transactions on L1, one a block."""
        operator = Operator(self.l1, ACCOUNTS[0].secret)
        for payload in payloads:
            signed = await operator.sign_call(MAILBOX, request_data(payload))
            await operator.send(signed)
            async with asyncio.timeout(PATIENCE_SECONDS):
                while await self.l1.receipt(signed.hash) is None:
                    pass

    def executed(self) -> list[PriorityTransaction]:
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
    path: Path | None = None,
) -> None:
    async def whole() -> None:
        scenario = Scenario(steered, path, config)
        try:
            await play(scenario)
        finally:
            scenario.chain.close()
            await scenario.l1.close()

    asyncio.run(whole())


def lying(
    play: Callable[[Scenario], Awaitable[None]],
    config: DepositConfig | None = None,
    kind: type[EmbeddedLayerOne] = LyingLayerOne,
    path: Path | None = None,
) -> None:
    """Play a scenario on an embedded L1 that can lie."""
    with layer_one("embedded") as steered:
        assert isinstance(steered, Embedded)
        steered.l1 = kind(steered.chain, steered.sequencer)
        run(steered, play, config, path)


def lying_on_disk(play: Callable[[Scenario], Awaitable[None]], tmp_path: Path) -> None:
    """Play one with a chain that can be started again."""
    lying(play, path=tmp_path / "chain")


DEPOSITS = [deposit(number, value=number + 1) for number in range(6)]
OTHERS = [deposit(number, value=number + 100) for number in range(6)]


@played(run)
async def test_deposits_are_executed_once_and_in_order(scenario: Scenario) -> None:
    assert await scenario.watcher.step() == 0
    await scenario.post(*DEPOSITS[:3])
    assert await scenario.watcher.step() == 3
    assert await scenario.watcher.step() == 0
    await scenario.post(DEPOSITS[3])
    assert await scenario.watcher.step() == 1
    assert scenario.executed() == DEPOSITS[:4]
    account = known(scenario.chain.latest.account(RECEIVER))
    assert account.balance == 1 + 2 + 3 + 4


class Ahead(EmbeddedLayerOne):
    """An L1 that says that it has three blocks more."""

    async def block_number(self, tag: L1Finality = "latest") -> int:
        return await super().block_number(tag) + 3


@played(lying, config=DepositConfig(confirmations=3), kind=Ahead)
async def test_blocks_that_l1_does_not_have_confirm_nothing(scenario: Scenario) -> None:
    await scenario.post(DEPOSITS[0])
    with pytest.raises(LayerOneMismatch, match="has no block 4 at the moment"):
        await scenario.watcher.step()
    assert not scenario.chain.filler.priority


@played(run, config=DepositConfig(confirmations=3))
async def test_a_deposit_waits_for_its_confirmations(scenario: Scenario) -> None:
    await scenario.post(DEPOSITS[0])
    assert await scenario.watcher.step() == 0
    scenario.layer_one.mine(2)
    assert await scenario.watcher.step() == 0
    scenario.layer_one.mine(1)
    assert await scenario.watcher.step() == 1


@played(run)
async def test_a_reorg_of_confirmed_blocks_with_the_same_deposits_executes_none_twice(
    scenario: Scenario,
) -> None:
    before = scenario.layer_one.checkpoint()
    await scenario.post(*DEPOSITS[:2])
    assert await scenario.watcher.step() == 2
    scenario.layer_one.restore(before)
    scenario.layer_one.mine()
    await scenario.post(*DEPOSITS[:3])
    assert await scenario.watcher.step() == 1
    assert scenario.executed() == DEPOSITS[:3]


@played(run)
async def test_a_reorg_that_replaces_an_executed_deposit_is_rejected(scenario: Scenario) -> None:
    before = scenario.layer_one.checkpoint()
    await scenario.post(DEPOSITS[0])
    await scenario.watcher.step()
    scenario.layer_one.restore(before)
    scenario.layer_one.mine()
    await scenario.post(OTHERS[0], DEPOSITS[1])
    with pytest.raises(LayerOneMismatch, match=r"deposit 0 on .* is not the one in block 1"):
        await scenario.watcher.step()
    assert scenario.executed() == DEPOSITS[:1]


@played(run)
async def test_a_reorg_that_removes_deposits_is_rejected(scenario: Scenario) -> None:
    before = scenario.layer_one.checkpoint()
    await scenario.post(*DEPOSITS[:2])
    await scenario.watcher.step()
    scenario.layer_one.restore(before)
    scenario.layer_one.mine(3)
    with pytest.raises(LayerOneMismatch, match="has sent 0 transactions, but this chain has 2"):
        await scenario.watcher.step()


@played(run)
async def test_a_missing_deposit_blocks_later_ones(scenario: Scenario) -> None:
    await scenario.post(DEPOSITS[0], DEPOSITS[2])
    for _ in range(2):
        with pytest.raises(LayerOneMismatch, match="deposit 1 is missing"):
            await scenario.watcher.step()
    assert not scenario.chain.filler.priority


@played(run)
async def test_reverted_deposits_are_executed_again(scenario: Scenario) -> None:
    await scenario.post(DEPOSITS[0])
    await scenario.watcher.step()
    before = scenario.chain.history.mark()
    await scenario.post(*DEPOSITS[1:3])
    await scenario.watcher.step()
    revert(scenario.chain, before)
    assert await scenario.watcher.step() == 2
    assert scenario.executed() == DEPOSITS[:3]


@played(run)
async def test_a_revert_of_l1_by_any_number_of_blocks_keeps_no_deposit_waiting(
    scenario: Scenario, steered: SteeredLayerOne
) -> None:
    checkpoint = steered.checkpoint()
    steered.mine(2 * MAX_REORG_DEPTH)
    assert not await scenario.watcher.step()
    steered.restore(checkpoint)
    await scenario.post(DEPOSITS[0])
    assert await scenario.watcher.step() == 1


@played(run)
async def test_a_pending_deposit_is_not_enqueued_again(scenario: Scenario) -> None:
    scenario.chain.schedule.seal_on_request()
    await scenario.post(*DEPOSITS[:2])
    assert await scenario.watcher.step() == 2
    await scenario.post(DEPOSITS[2])
    assert await scenario.new_watcher().step() == 1
    assert scenario.executed() == []
    scenario.chain.builder.seal()
    assert scenario.executed() == DEPOSITS[:3]


@played(lying_on_disk)
async def test_a_restart_continues_after_the_last_executed_deposit(scenario: Scenario) -> None:
    await scenario.post(*DEPOSITS[:2])
    await scenario.watcher.step()
    # These are enqueued, but in no block when the process ends.
    scenario.chain.schedule.seal_on_request()
    await scenario.post(*DEPOSITS[2:4])
    assert await scenario.watcher.step() == 2
    scenario.restart()
    await scenario.post(DEPOSITS[4])
    assert await scenario.watcher.step() == 3
    assert scenario.executed() == DEPOSITS[:5]


class RecordingZkChain(ZkChain):
    """A contract that records which blocks are read."""

    def __init__(self, l1: LayerOne, address: Address, first_block: int = 0) -> None:
        super().__init__(l1, address, first_block)
        self.ranges: list[tuple[int, int]] = []

    async def deposits(self, first: int, last: int) -> list[Deposit]:
        self.ranges.append((first, last))
        return await super().deposits(first, last)


@played(lying_on_disk)
async def test_a_restart_continues_from_the_stored_cursor(scenario: Scenario) -> None:
    await scenario.post(*DEPOSITS[:3])
    await scenario.watcher.step()
    scenario.restart()
    await scenario.post(DEPOSITS[3])
    contract = RecordingZkChain(scenario.l1, MAILBOX)
    assert await scenario.new_watcher(contract).step() == 1
    assert contract.ranges == [(4, 4)]


@played(lying_on_disk)
async def test_empty_logs_of_a_node_that_lags_lose_no_deposit(scenario: Scenario) -> None:
    assert isinstance(scenario.l1, LyingLayerOne)
    await scenario.post(DEPOSITS[0])
    await scenario.watcher.step()
    await scenario.post(DEPOSITS[1])
    scenario.l1.empty_logs = 1
    with pytest.raises(LayerOneMismatch, match=r"deposit 1 is missing .* its contract counts 2"):
        await scenario.watcher.step()
    # Nothing wrong was persisted either.
    scenario.restart()
    await scenario.post(DEPOSITS[2])
    assert await scenario.watcher.step() == 2
    assert scenario.executed() == DEPOSITS[:3]


@pytest.mark.parametrize("states", [None, 8])
@played(lying)
async def test_a_deposit_that_its_contract_does_not_have_is_not_queued(
    scenario: Scenario, states: int | None
) -> None:
    """Also if L1 has no state of its block any more."""
    assert isinstance(scenario.l1, LyingLayerOne)
    await scenario.post(*DEPOSITS[:2])
    scenario.layer_one.mine(MAX_REORG_DEPTH + 1)
    scenario.l1.states = states
    assert await scenario.watcher.step() == 2
    await scenario.post(*DEPOSITS[2:4])
    scenario.layer_one.mine(MAX_REORG_DEPTH + 1)
    scenario.l1.false_mints = {2: 10**24}
    with pytest.raises(LayerOneMismatch, match="deposits 2 to 3 would make the root 0x"):
        await scenario.watcher.step()
    assert await scenario.watcher.step() == 2
    assert scenario.executed() == DEPOSITS[:4]


@played(lying_on_disk)
async def test_a_restart_compares_later_deposits_with_the_tree_of_its_contract(
    scenario: Scenario,
) -> None:
    assert isinstance(scenario.l1, LyingLayerOne)
    await scenario.post(*DEPOSITS[:3])
    await scenario.watcher.step()
    scenario.restart()
    scenario.chain.schedule.seal_on_request()
    await scenario.post(DEPOSITS[3])
    assert await scenario.watcher.step() == 1
    await scenario.post(DEPOSITS[4])
    scenario.l1.false_mints = {4: 10**24}
    # The one before it is still pending.
    with pytest.raises(LayerOneMismatch, match="deposit 4 would make"):
        await scenario.new_watcher().step()
    assert await scenario.new_watcher().step() == 1


@pytest.mark.parametrize("has_archive", [True, False])
@played(lying)
async def test_a_cursor_that_is_past_a_deposit_heals(scenario: Scenario, has_archive: bool) -> None:
    assert isinstance(scenario.l1, LyingLayerOne)
    await scenario.post(*DEPOSITS[:2])
    scenario.layer_one.mine(300)
    head = known(await scenario.l1.block(await scenario.l1.block_number()))
    scenario.chain.batches.set_deposit_cursor(DepositCursor(head.number, head.hash, 0))
    scenario.layer_one.mine(200)
    if not has_archive:
        scenario.l1.states = 128
        with pytest.raises(LayerOneMismatch, match="deposit 0 is missing"):
            await scenario.watcher.step()
    assert await scenario.watcher.step() == 2
    assert scenario.executed() == DEPOSITS[:2]


@played(lying)
async def test_logs_of_a_block_that_l1_does_not_have_are_rejected(scenario: Scenario) -> None:
    assert isinstance(scenario.l1, LyingLayerOne)
    await scenario.post(*DEPOSITS[:2])
    scenario.layer_one.mine(1)
    scenario.l1.log_hashes = {1: Hash32(b"\x66" * 32)}
    with pytest.raises(LayerOneMismatch, match="different versions of block 1"):
        await scenario.watcher.step()
    scenario.l1.log_hashes = {}
    assert await scenario.watcher.step() == 2


@pytest.mark.parametrize(("call", "name"), [(4, "logs"), (5, "call"), (6, "block")])
@played(lying)
async def test_a_reorg_between_two_requests_is_noticed(
    scenario: Scenario, call: int, name: str
) -> None:
    before = scenario.layer_one.checkpoint()
    await scenario.post(DEPOSITS[0])
    eventful = EventfulLayerOne(scenario.l1)
    watcher = scenario.new_watcher(ZkChain(eventful, MAILBOX))

    def reorg() -> None:
        scenario.layer_one.restore(before)
        scenario.layer_one.mine(2)

    eventful.before(call, reorg)
    with pytest.raises(LayerOneMismatch):
        await watcher.step()
    assert eventful.is_over
    assert eventful.calls[call - 1] == name
    assert await watcher.step() == 0
    assert scenario.executed() == []


@played(run)
async def test_a_pending_deposit_is_dropped_if_a_reorg_removes_its_block(
    scenario: Scenario,
) -> None:
    scenario.chain.schedule.seal_on_request()
    await scenario.post(DEPOSITS[0])
    assert await scenario.watcher.step() == 1
    before = scenario.layer_one.checkpoint()
    await scenario.post(*DEPOSITS[1:3])
    assert await scenario.watcher.step() == 2
    scenario.layer_one.restore(before)
    scenario.layer_one.mine(3)
    assert await scenario.watcher.step() == 0
    assert [deposit.payload for deposit in scenario.chain.filler.priority] == DEPOSITS[:1]
    await scenario.post(OTHERS[1])
    assert await scenario.watcher.step() == 1
    scenario.chain.builder.seal()
    assert scenario.executed() == [DEPOSITS[0], OTHERS[1]]


@played(lying)
async def test_no_more_deposits_are_read_than_may_be_pending(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("entresol.rollup.deposits.deposit_watcher.MAX_QUEUED", 1)
    scenario.chain.schedule.seal_on_request()
    await scenario.post(DEPOSITS[0])
    assert await scenario.watcher.step() == 1
    await scenario.post(DEPOSITS[1])
    assert await scenario.watcher.step() == 0
    scenario.chain.builder.seal()
    assert await scenario.watcher.step() == 1


@played(run)
async def test_a_reorg_rereads_a_bounded_number_of_blocks(scenario: Scenario) -> None:
    await scenario.post(DEPOSITS[0])
    scenario.layer_one.mine(300)
    recording = RecordingZkChain(scenario.l1, MAILBOX)
    watcher = scenario.new_watcher(recording)
    assert await watcher.step() == 1
    before = scenario.layer_one.checkpoint()
    scenario.layer_one.mine(2)
    assert await watcher.step() == 0
    scenario.layer_one.restore(before)
    await scenario.post(DEPOSITS[1])
    scenario.layer_one.mine(2)
    recording.ranges.clear()
    assert await watcher.step() == 1
    ((first, last),) = recording.ranges
    assert first >= 303 - MAX_REORG_DEPTH
    assert last == 304


@played(lying)
async def test_nothing_is_read_before_the_contract_was_deployed(scenario: Scenario) -> None:
    scenario.layer_one.mine(20)
    await scenario.post(DEPOSITS[0])
    recording = RecordingZkChain(scenario.l1, MAILBOX, first_block=15)
    assert await scenario.new_watcher(recording).step() == 1
    assert recording.ranges == [(15, 21)]


@played(lying, config=DepositConfig(finality="finalized"))
async def test_deposits_can_follow_the_finalized_block_of_l1(scenario: Scenario) -> None:
    assert isinstance(scenario.l1, LyingLayerOne)
    scenario.l1.finalized = 0
    await scenario.post(*DEPOSITS[:2])
    assert await scenario.watcher.step() == 0
    scenario.l1.finalized = 1
    assert await scenario.watcher.step() == 1


@pytest.mark.parametrize("kind", [0x00, 0x02, 0x71, 0xFE])
@played(lying)
async def test_a_log_with_another_type_is_rejected_and_blocks_are_sealed(
    scenario: Scenario, kind: int
) -> None:
    await scenario.post(deposit(0), msgspec.structs.replace(deposit(1), type=kind))
    with pytest.raises(LayerOneMismatch, match=r"is not readable: .*type"):
        await scenario.watcher.step()
    assert not scenario.chain.filler.priority
    scenario.chain.builder.seal()
    assert scenario.chain.number == 1


def test_nothing_that_is_not_a_request_gets_into_the_queue() -> None:
    chain = SettlingChain.begin()
    for wrong in ({"type": 0xFE}, {"nonce": 2**64}):
        with pytest.raises(MalformedTransaction):
            chain.enqueue(msgspec.structs.replace(deposit(0), **wrong))
    chain.builder.seal()
    chain.close()


class OutspokenLayerOne(LyingLayerOne):
    """An L1 whose contract allows so much gas for a request."""

    allowed: Mapping[int, int] = MappingProxyType({})
    """By block number, from that block on."""

    async def call(
        self,
        to: Address,
        data: bytes,
        *,
        sender: Address = DEFAULT_SENDER,
        block: int | Hash32 | None = None,
    ) -> bytes:
        returned = await super().call(to, data, sender=sender, block=block)
        if data != encode_call("getPriorityTxMaxGasLimit()"):
            return returned
        assert isinstance(block, int)
        return max((at, gas) for at, gas in self.allowed.items() if at <= block)[1].to_bytes(32)


@played(lying, kind=OutspokenLayerOne)
async def test_a_deposit_with_more_gas_than_the_contract_allows_is_not_queued(
    scenario: Scenario,
) -> None:
    assert isinstance(scenario.l1, OutspokenLayerOne)
    scenario.l1.allowed = {0: 72_000_000}
    await scenario.post(msgspec.structs.replace(DEPOSITS[0], gas_limit=2**63))
    with pytest.raises(LayerOneMismatch, match="gas in block 1, which its contract"):
        await scenario.watcher.step()
    assert scenario.executed() == []
    assert not scenario.chain.filler.priority


@pytest.mark.parametrize("allowed", [{0: 72_000_000}, {0: 72_000_000, 1: 30_000_000}])
@played(lying, kind=OutspokenLayerOne)
async def test_a_deposit_that_the_contract_allowed_in_its_block_is_executed(
    scenario: Scenario, allowed: Mapping[int, int]
) -> None:
    assert isinstance(scenario.l1, OutspokenLayerOne)
    scenario.l1.allowed = allowed
    await scenario.post(msgspec.structs.replace(DEPOSITS[0], gas_limit=60_000_000))
    assert await scenario.watcher.step() == 1
    assert len(scenario.executed()) == 1


@played(lying, kind=OutspokenLayerOne)
async def test_what_l1_allowed_is_not_known_without_the_state_of_the_block(
    scenario: Scenario,
) -> None:
    assert isinstance(scenario.l1, OutspokenLayerOne)
    await scenario.post(msgspec.structs.replace(DEPOSITS[0], gas_limit=2**63))
    scenario.l1.states = 8
    scenario.layer_one.mine(MAX_REORG_DEPTH + 1)
    assert await scenario.watcher.step() == 1
    assert scenario.chain.blocks.record(1).results[0].succeeded is False
