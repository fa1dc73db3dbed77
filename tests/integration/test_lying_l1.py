"""One wrong response of L1 stops nothing: every field of every response is attacked, and then L1 is honest again.

The requests are those that a node makes; the results are those of a development L1, through the client of a remote one.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path as FilePath
from typing import Any

import msgspec
import pytest

from entresol.chain.fees import FeeModel
from entresol.errors import EntresolError, LayerOneFailed, LayerOneMismatch, LayerOneRejected
from entresol.primitives.transactions import FeeMarketTransaction, decode, sign
from entresol.rollup.settlement.pending_tx import PendingSettlements
from entresol.rollup.settlement.settler import SettlementConfig
from tests.robustness.wrong_values import Path, paths, wrong_at
from tests.support.rollup.layer_ones import LyingRemote, view
from tests.support.rollup.settlement_scenario import OPERATOR, Scenario, run
from tests.support.rollup.settling_chain import RECEIVER
from tests.support.run.examples import tries_many

NAMES = (
    "eth_chainId",
    "eth_blockNumber",
    "eth_getBlockByNumber",
    "eth_getLogs",
    "eth_estimateGas",
    "eth_getTransactionReceipt",
    "eth_getTransactionCount",
    "eth_getBalance",
    "eth_maxPriorityFeePerGas",
    "eth_sendRawTransaction",
    view("getTotalBatchesCommitted()"),
    view("getTotalBatchesVerified()"),
    view("getTotalBatchesExecuted()"),
    view("getTotalPriorityTxs()"),
    view("isPriorityTreeRoot(bytes32,uint256)"),
    view("storedBatchHash(uint256)"),
    view("l2LogsRootHash(uint256)"),
)
SEND = "eth_sendRawTransaction"
READ = frozenset(
    {"number", "hash", "parentHash", "timestamp", "baseFeePerGas"}
    | {"transactionHash", "blockNumber", "blockHash", "status", "gasUsed"}
    | {"address", "topics", "data", "logIndex", "removed", "0", "1", "2"}
)
"""Members that are read; all values of others are the same to the node."""
HURRY = 3


class Services:
    """The services that a node runs beside L1, a step at a time."""

    def __init__(self, scenario: Scenario, remote: LyingRemote) -> None:
        self.scenario = scenario
        self.client = remote.client
        self.fees = FeeModel()
        self._now = 0.0

    async def attempt(self) -> None:
        """Let every service try a step; only errors that it expects may come of it."""
        scenario = self.scenario
        self._now += 1.0
        attempts: tuple[Callable[[], Awaitable[object]], ...] = (
            scenario.watcher.step,
            lambda: scenario.settler.step(self._now),
            lambda: scenario.settler.step(self._now),
            self.observe,
        )
        for attempt in attempts:
            with contextlib.suppress(EntresolError):
                async with asyncio.timeout(20):
                    await attempt()

    async def observe(self) -> None:
        """Read the gas price, and seal a block with it."""
        self.fees.observe((await self.scenario.l1.fees()).gas_price)
        self.fees.prices()

    async def work(self) -> None:
        """Give the services something to do."""
        await self.scenario.contracts.deposit(RECEIVER, 1)
        self.scenario.seal_batch(1)

    async def settle(self) -> None:
        """Check that everything goes on once L1 is honest."""
        scenario = self.scenario
        # A step that seemed to revert is tried again after a while.
        self._now += 100.0
        async with asyncio.timeout(60):
            while not await self._is_done():
                self._now += 5.0
                with contextlib.suppress(EntresolError):
                    await scenario.settler.step(self._now)
        last = scenario.batcher.last.number
        assert await scenario.totals() == (last, last, last)
        assert scenario.settler.stopped is None
        while await scenario.watcher.step():
            pass
        assert (
            scenario.watcher.next_id == await scenario.contracts.chain.total_priority_transactions()
        )
        assert scenario.chain.number == scenario.chain.finality.finalized

    async def _is_done(self) -> bool:
        last = self.scenario.batcher.last.number
        is_executed = (await self.scenario.totals())[2] == last
        return is_executed and self.scenario.chain.finality.finalized == self.scenario.chain.number


@contextlib.contextmanager
def lying_remote() -> Iterator[LyingRemote]:
    with contextlib.closing(LyingRemote()) as remote:
        yield remote


def play(script: Callable[[Services], Awaitable[None]], path: FilePath | None = None) -> None:
    with lying_remote() as remote:

        async def whole(scenario: Scenario) -> None:
            await script(Services(scenario, remote))

        run(remote, whole, path=path, config=SettlementConfig(retry_seconds=1.0))


def signed_chain_ids(services: Services) -> set[int]:
    payloads = [decode(raw).payload for raw in services.client.sent]
    return {payload.chain_id for payload in payloads if isinstance(payload, FeeMarketTransaction)}


@pytest.mark.parametrize("name", NAMES)
def test_after_any_wrong_value_in_any_field_everything_goes_on(name: str) -> None:
    async def script(services: Services) -> None:
        client = services.client
        await services.work()
        await services.settle()
        truth = client.truths[name]
        for fields, path in enumerate(paths(truth)):
            count = len(list(wrong_at(truth, path)))
            is_read = not path or str(path[-1]) in READ
            await services.work()
            # In a hurry every field has some of its wrong values, and each value is that of some field.
            tried = range(count if is_read else 2)
            first = fields % min(HURRY, len(tried))
            for index in tried if tries_many() else tried[first::HURRY]:
                client.lie = name, partial(wrong_result, path=path, index=index)
                await services.attempt()
            client.tell_truth()
            await services.settle()
        assert signed_chain_ids(services) == {31337}

    play(script)


def wrong_result(truth: Any, path: Path, index: int) -> Any:
    """Return the result with one wrong value, if it has a value there at all."""
    if path not in paths(truth):
        return truth
    wrongs = list(wrong_at(truth, path))
    return wrongs[index % len(wrongs)].result


def test_a_total_that_is_far_too_large_is_rejected_at_once() -> None:
    async def script(services: Services) -> None:
        await services.work()
        services.client.lie = view("getTotalBatchesVerified()"), lambda _: "0x" + f"{2**40:064x}"
        with pytest.raises(LayerOneMismatch, match="contradict each other"):
            await services.scenario.settler.step(0.0)
        services.client.tell_truth()
        await services.settle()

    play(script)


def test_nothing_is_signed_while_l1_has_another_chain_id() -> None:
    async def script(services: Services) -> None:
        await services.work()
        sent = len(services.client.sent)
        services.client.lie = "eth_chainId", lambda _: "0x1"
        with pytest.raises(
            LayerOneMismatch, match="has the chain id 1, and this chain settles on 31337"
        ):
            await services.scenario.settler.step(0.0)
        assert len(services.client.sent) == sent
        assert not services.scenario.is_pending
        services.client.tell_truth()
        await services.settle()
        assert signed_chain_ids(services) == {31337}

    play(script)


@pytest.mark.parametrize("estimate", [0, 1, 20_000, 2**29, 2**64])
def test_nothing_is_signed_by_an_estimate_that_cannot_be_right(estimate: int) -> None:
    async def script(services: Services) -> None:
        await services.work()
        sent = len(services.client.sent)
        services.client.lie = "eth_estimateGas", lambda _: hex(estimate)
        with pytest.raises(LayerOneFailed):
            await services.scenario.settler.step(0.0)
        assert len(services.client.sent) == sent
        services.client.tell_truth()
        await services.settle()

    play(script)


@pytest.mark.parametrize("wrong", [{"chain_id": 1}, {"gas_limit": 20_000}, {"gas_limit": 2**28}])
def test_what_was_signed_after_a_lie_is_signed_anew_with_its_nonce(
    wrong: dict[str, int], tmp_path: FilePath
) -> None:
    async def script(services: Services) -> None:
        client, scenario = services.client, services.scenario
        nonce = await scenario.l1.nonce(OPERATOR.address)
        await services.work()
        client.error = SEND, {"code": -32000, "message": "no"}
        with pytest.raises(LayerOneRejected):
            await scenario.settler.step(0.0)
        await persist_with(scenario, wrong)
        client.tell_truth()
        scenario.restart()
        await services.settle()
        # The commit, the proof and the execution: none was sent twice.
        assert await scenario.l1.nonce(OPERATOR.address) == nonce + 3

    play(script, tmp_path / "chain")


async def persist_with(scenario: Scenario, wrong: dict[str, int]) -> None:
    """Replace what is persisted of the pending transaction, as a version that believed L1 signed it."""
    pending = scenario.pending()
    payload = msgspec.structs.replace(pending.transactions()[0].payload, **wrong)
    raw = sign(payload, OPERATOR.secret).raw
    await PendingSettlements(scenario.batches).persist(
        msgspec.structs.replace(pending, attempts=(raw,))
    )


def test_a_step_that_ran_out_of_gas_after_a_lie_is_sent_again() -> None:
    async def script(services: Services) -> None:
        client, scenario = services.client, services.scenario
        await services.work()
        client.lie = "eth_estimateGas", lambda truth: hex(int(truth, 16) // 2)
        await services.attempt()
        client.tell_truth()
        assert "commit of batch 1 failed" in (scenario.settler.stopped or "")
        await services.settle()

    play(script)


def test_a_step_that_seems_to_revert_is_tried_again_later() -> None:
    async def script(services: Services) -> None:
        client, scenario = services.client, services.scenario
        await services.work()
        client.error = "eth_estimateGas", {"code": 3, "message": "execution reverted"}
        await services.attempt()
        assert "commit of batch 1 failed" in (scenario.settler.stopped or "")
        client.tell_truth()
        await services.settle()

    play(script)


def test_a_nonce_that_is_too_high_signs_nothing() -> None:
    async def script(services: Services) -> None:
        client, scenario = services.client, services.scenario
        await services.work()
        sent = len(client.sent)
        answers = iter([5, 0])
        client.lie = "eth_getTransactionCount", lambda truth: hex(int(truth, 16) + next(answers, 0))
        with pytest.raises(LayerOneMismatch, match="a moment later"):
            await scenario.settler.step(0.0)
        assert len(client.sent) == sent
        client.tell_truth()
        await services.settle()

    play(script)
