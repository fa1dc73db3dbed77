"""Reorgs of L1 and crashes between any two L1 requests of the settlement."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from entresol.errors import EntresolError, ExecutionReverted, LayerOneFailed, LayerOneRejected
from entresol.l1.deployment import SettlementContracts
from entresol.l1.operator import OperatorKeys
from entresol.primitives.batches import SettlementStep
from entresol.primitives.transactions import decode, sign
from entresol.rollup.settlement.settler import SettlementConfig, Settler
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import fee_market
from tests.support.known import known
from tests.support.played import played
from tests.support.rollup.layer_ones import CHAIN_ID, Embedded, EventfulLayerOne, LaggingLayerOne
from tests.support.rollup.settlement_scenario import (
    ONE_KEY,
    OPERATOR,
    THREE_KEYS,
    DeployedLayerOne,
    Scenario,
)
from tests.support.rollup.settlement_scenario import run as run_scenario
from tests.support.rollup.settling_chain import RECEIVER
from tests.support.run.examples import tries_many


class ProcessEnded(BaseException):
    """The process ended."""


class Race:
    """A scenario whose L1 is reorganised before a given request."""

    def __init__(self, scenario: Scenario, embedded: Embedded, l1: EventfulLayerOne) -> None:
        self.scenario = scenario
        self.embedded = embedded
        self.l1 = l1
        embedded.mine()
        self._now = 0.0
        self._first = embedded.checkpoint()
        l1.calls.clear()
        l1.sent.clear()

    def reorg(self) -> None:
        """Remove every block with a settlement transaction; the transactions are dropped."""
        self.embedded.restore(self._first)

    def reorg_to_later_blocks(self) -> None:
        self.reorg()
        self.embedded.mine(2)
        self._submit(self.l1.sent)

    def reorg_twice(self) -> None:
        """Remove every block with a settlement transaction, and restore them two requests later."""
        sent = list(self.l1.sent)
        self.reorg()
        self.l1.before(len(self.l1.calls) + 2, lambda: self._submit(sent))

    def crash(self) -> None:
        raise ProcessEnded

    def _submit(self, transactions: list[bytes]) -> None:
        for raw in transactions:
            # A settler that saw both sides of the reorg may have used a nonce twice.
            with contextlib.suppress(EntresolError):
                InlineSequencer(self.embedded.chain).submit(raw)

    async def commit_one(self) -> Settler:
        """Seal and commit a batch; return the settler, whose next step is the proof."""
        settler = self.scenario.settler
        self.scenario.seal_batch(1)
        await settler.step(0.0)
        await settler.step(0.0)
        return settler

    async def settle(self) -> None:
        """Settle until nothing is left to do, whatever happens meanwhile."""
        idle = 0
        # A second time, so that L1 is read again after the last event.
        while idle < 2:
            self._now += 0.6
            assert self._now < 100, "settlement comes to no end"
            was_over = self.l1.is_over
            try:
                more = await self.scenario.settler.step(self._now)
            except ProcessEnded:
                self.scenario.restart()
            except LayerOneFailed:
                # `run` logs it, and retries.
                idle = 0
            else:
                pending = self.scenario.is_pending
                idle = 0 if more or pending or self.l1.is_over != was_over else idle + 1

    async def check(self, batches: int) -> None:
        """Check that everything is settled, and recorded as L1 has it."""
        assert self.scenario.settler.stopped is None
        assert await self.scenario.totals() == (batches, batches, batches)
        for number, step in itertools.product(range(1, batches + 1), SettlementStep):
            done = known(self.scenario.batches.settled(number, step))
            receipt = known(await self.l1.receipt(done.transaction))
            assert receipt.succeeded
            block = await self.l1.block(done.block)
            assert (receipt.block_number, block.timestamp) == (done.block, done.timestamp)


_layer_ones: Final[dict[int, DeployedLayerOne]] = {}
"""By how many keys settle."""


@pytest.fixture(autouse=True, scope="module")
def _closed() -> Iterator[None]:
    yield
    while _layer_ones:
        _layer_ones.popitem()[1].close()


def layer_one_of(keys: OperatorKeys) -> tuple[Embedded, SettlementContracts]:
    """Return a layer 1 on which these keys may settle, and the contracts there."""
    count = len(keys.keys)
    if count not in _layer_ones:
        _layer_ones[count] = DeployedLayerOne(keys)
    return _layer_ones[count].reverted()


def race(
    play: Callable[[Race], Awaitable[None]],
    *,
    path: Path | None = None,
    config: SettlementConfig | None = None,
    keys: OperatorKeys = ONE_KEY,
) -> None:
    embedded, contracts = layer_one_of(keys)
    l1 = EventfulLayerOne(embedded.l1)
    embedded.l1 = l1

    async def with_race(scenario: Scenario) -> None:
        await play(Race(scenario, embedded, l1))

    run_scenario(embedded, with_race, path=path, config=config, keys=keys, on_l1=contracts)


def race_on_disk(play: Callable[[Race], Awaitable[None]], tmp_path: Path) -> None:
    race(play, path=tmp_path / "chain")


@played(race)
async def test_a_revert_on_one_block_only_does_not_stop_settlement(
    it: Race, monkeypatch: pytest.MonkeyPatch
) -> None:
    settler = await it.commit_one()
    real, behind = it.l1.estimate_gas, [True]

    async def estimate_gas(*arguments: Any, **more: Any) -> Any:
        if behind:
            behind.clear()
            raise ExecutionReverted(b"", "not committed here")
        return await real(*arguments, **more)

    monkeypatch.setattr(it.l1, "estimate_gas", estimate_gas, raising=False)
    assert await settler.step(0.0)
    assert settler.stopped is None
    await it.settle()
    await it.check(1)


@played(race)
async def test_a_step_is_not_signed_with_a_nonce_from_after_a_reorg(it: Race) -> None:
    settler = await it.commit_one()
    # The estimate is from before the reorg: with a nonce from after, the proof would have that of the commit.
    it.l1.before("nonce", it.reorg)
    with pytest.raises(LayerOneRejected, match="there is no block"):
        await settler.step(0.0)
    assert not it.scenario.is_pending
    await it.settle()
    await it.check(1)


@played(race)
async def test_a_step_that_reverts_after_a_reorg_does_not_stop_settlement(it: Race) -> None:
    settler = await it.commit_one()
    it.embedded.mine_on_request()
    await settler.step(0.0)
    (proof,) = it.scenario.pending().attempts

    def replace_the_commit() -> None:
        it.reorg()
        InlineSequencer(it.embedded.chain).submit(_transfer(decode(proof).payload.nonce - 1))
        InlineSequencer(it.embedded.chain).submit(proof)
        it.embedded.mine()

    # The totals were read before that, and had the commit.
    it.l1.before("receipt", replace_the_commit)
    assert await settler.step(0.5)
    assert settler.stopped is None
    it.embedded.chain.schedule.seal_at_once()
    await it.settle()
    await it.check(1)


def _transfer(nonce: int) -> bytes:
    payload = fee_market(nonce, RECEIVER, chain_id=CHAIN_ID, fee=10**11, tip=10**10)
    return sign(payload, OPERATOR.secret).raw


@played(race_on_disk)
async def test_a_restart_does_not_recheck_steps_deeper_than_a_reorg(it: Race) -> None:
    it.scenario.seal_batch(1)
    await it.scenario.settle()
    it.embedded.mine(65)
    it.scenario.restart()
    it.l1.calls.clear()
    await it.settle()
    # A node without old receipts is sufficient.
    assert "receipt" not in it.l1.calls
    await it.check(1)


@played(race, config=SettlementConfig(confirmations=2))
async def test_a_step_that_a_reorg_moved_to_a_later_block_is_final_later(it: Race) -> None:
    chain = it.scenario.chain
    it.scenario.seal_batch(1)
    await it.scenario.settle()
    it.reorg_to_later_blocks()
    await it.settle()
    it.embedded.mine()
    await it.settle()
    assert chain.finality.finalized == 0
    it.embedded.mine()
    await it.settle()
    assert chain.finality.finalized == 1


@pytest.mark.parametrize("restarts", [False, True])
@played(race_on_disk)
async def test_whichever_of_two_attempts_is_included_is_recorded(it: Race, restarts: bool) -> None:
    settler = it.scenario.settler
    it.embedded.mine_on_request()
    it.scenario.seal_batch(1)
    await settler.step(0.0)
    it.scenario.pass_over()
    await settler.step(30.0)
    cheap, dear = it.scenario.pending().attempts
    it.embedded.mine()
    await settler.step(31.0)
    assert _committed_by(it) == decode(dear).hash
    it.reorg()
    InlineSequencer(it.embedded.chain).submit(cheap)
    it.embedded.mine()
    if restarts:
        it.scenario.restart()
    it.embedded.chain.schedule.seal_at_once()
    await it.settle()
    await it.check(1)
    assert _committed_by(it) == decode(cheap).hash


def _committed_by(it: Race) -> bytes:
    done = known(it.scenario.batches.settled(1, SettlementStep.COMMIT))
    return done.transaction


@pytest.mark.parametrize("restarts", [False, True])
@played(race_on_disk)
async def test_a_reorg_below_a_replaced_transaction_settles_everything_again(
    it: Race, restarts: bool
) -> None:
    settler = await it.commit_one()
    it.embedded.mine_on_request()
    await settler.step(0.0)
    it.scenario.pass_over()
    await settler.step(30.0)
    assert it.scenario.pending().step is SettlementStep.PROVE
    assert len(it.scenario.pending().attempts) == 2
    it.reorg()
    if restarts:
        it.scenario.restart()
    it.embedded.chain.schedule.seal_at_once()
    await it.settle()
    await it.check(1)


@played(race)
async def test_a_block_that_arrives_between_nonce_and_receipt_is_not_another_senders(
    it: Race, caplog: pytest.LogCaptureFixture
) -> None:
    it.embedded.mine_on_request()
    it.scenario.seal_batch(1)
    await it.scenario.settler.step(0.0)
    it.l1.before("nonce", it.embedded.mine)
    assert await it.scenario.settler.step(0.5)
    assert "signing again" not in caplog.text
    assert "logs" not in it.l1.calls


@played(race, config=SettlementConfig(poll_seconds=0.0))
async def test_a_step_by_hand_is_sent_again_if_l1_drops_it(it: Race) -> None:
    it.embedded.mine_on_request()
    before = it.embedded.checkpoint()
    it.scenario.seal_batch(1)
    seconds = itertools.count()
    events = iter((lambda: it.embedded.restore(before), it.embedded.mine))

    def clock() -> float:
        # After the first attempt L1 drops it, and after the second it mines.
        if it.l1.sent:
            next(events, lambda: None)()
        return next(seconds)

    async with asyncio.timeout(30):
        done = await it.scenario.settler.settle(SettlementStep.COMMIT, 1, clock)
    assert [decode(raw).hash for raw in it.l1.sent] == [done.transaction] * 2


LAGGING = ("head", "call", "estimate_gas", "nonce", "receipt", "block")


@pytest.mark.parametrize("lag", [1, 2])
@pytest.mark.parametrize(
    "methods",
    [methods for size in (1, 2, 3) for methods in itertools.combinations(LAGGING, size)],
    ids="-".join,
)
def test_a_node_that_lags_neither_stops_nor_doubles_a_step(
    methods: tuple[str, ...], lag: int
) -> None:
    embedded, contracts = layer_one_of(ONE_KEY)
    lagging = LaggingLayerOne(embedded.chain, embedded.sequencer)
    embedded.l1 = l1 = EventfulLayerOne(lagging)

    async def play(scenario: Scenario) -> None:
        it = Race(scenario, embedded, l1)
        embedded.mine(2)
        nonce = await l1.nonce(OPERATOR.address)
        for messages in ((1,), (2,), (3,)):
            scenario.seal_batch(*messages)
            # Each step is in a block of its own, and each time the first responses are late.
            for _ in range(8):
                lagging.methods, lagging.lag = frozenset(methods), lag
                with contextlib.suppress(LayerOneFailed):
                    await scenario.settler.step(0.0)
                lagging.methods = frozenset()
                with contextlib.suppress(LayerOneFailed):
                    await scenario.settler.step(0.0)
        await it.settle()
        await it.check(3)
        done = [scenario.batches.settled(n, step) for n in (1, 2, 3) for step in SettlementStep]
        used = {transaction.transaction for transaction in done if transaction is not None}
        assert await l1.nonce(OPERATOR.address) - nonce == len(used)

    run_scenario(embedded, play, on_l1=contracts)


EVENTS: Final[list[tuple[Callable[[Race], None], ...]]] = [
    (Race.reorg,),
    (Race.reorg_to_later_blocks,),
    (Race.reorg_twice,),
    (Race.reorg_to_later_blocks, Race.crash),
    (Race.crash,),
]
HURRY = 8


@pytest.mark.slow
@pytest.mark.parametrize(
    "events", EVENTS, ids=lambda events: "-".join(event.__name__ for event in events)
)
@pytest.mark.parametrize("keys", [ONE_KEY, THREE_KEYS], ids=["one", "three"])
def test_everything_is_settled_once_whatever_happens_before_any_request(
    tmp_path: Path, events: tuple[Callable[[Race], None], ...], keys: OperatorKeys
) -> None:
    has_reorg, needed = events != (Race.crash,), 4 if keys is ONE_KEY else 6

    async def sent(it: Race) -> int:
        return sum([await it.l1.nonce(key.address) for key in keys.keys])

    async def play(it: Race, moment: int) -> bool:
        def happen() -> None:
            for event in events:
                event(it)

        it.scenario.seal_batch(1)
        it.scenario.seal_batch(2)
        before = await sent(it)
        it.l1.calls.clear()
        it.l1.before(moment, happen)
        await it.settle()
        if it.l1.is_over:
            await it.check(2)
            # Two commits, a proof and an execution with one key, and nothing twice. Three keys send a proof and an
            # execution more, and a reorg may put the transaction of one before that of another which it needs.
            spare = needed - 1 if has_reorg and keys is THREE_KEYS else 0
            assert await sent(it) - before <= needed + spare
        return it.l1.is_over

    happened = True
    # Each moment is a whole settlement; in a hurry, every event meets others, as one key and three do.
    in_hurry = 1 + (EVENTS.index(events) + (4 if keys is THREE_KEYS else 0)) % HURRY
    first, step = (1, 1) if tries_many() else (in_hurry, HURRY)
    for moment in itertools.count(first, step):

        async def play_at(it: Race, moment: int = moment) -> None:
            nonlocal happened
            happened = await play(it, moment)

        race(play_at, path=tmp_path / str(moment), keys=keys)
        if not happened:
            assert moment > 50
            return
