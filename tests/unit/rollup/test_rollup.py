"""The rollup as one thing: deposits come in, batches go out, and it says how it is."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from entresol.l1.operator import Operator
from entresol.rollup.batches import SealingPolicy, genesis_batch, stored_of
from entresol.rollup.rollup import Rollup, RollupConfig
from entresol.storage.batches import Batch, Step
from tests.layer_ones import ACCOUNTS, Embedded
from tests.settlement_contracts import SettlementContracts, deploy
from tests.settling import CHAIN_ID, RECEIVER, SettlingChain

OPERATOR = ACCOUNTS[1]


class Pair:
    """Two layers in one process, tied together."""

    contracts: SettlementContracts
    rollup: Rollup

    def __init__(self) -> None:
        self.layer_one = Embedded()
        self.chain = SettlingChain.begin()
        self.chain.schedule.seal_at_once()
        self.changed: list[Batch] = []
        self.sealed = asyncio.Event()

    async def tie(self, config: RollupConfig) -> None:
        genesis = stored_of(genesis_batch(self.chain.ledger.record(0)), CHAIN_ID)
        l1 = self.layer_one.l1
        self.contracts = await deploy(l1, CHAIN_ID, genesis.hash(), OPERATOR.address)
        operator = Operator(l1, OPERATOR.secret)
        timelock, contract = self.contracts.timelock, self.contracts.chain
        self.rollup = Rollup(self.chain, contract, operator, timelock, config, on_change=self._note)

    def _note(self, batch: Batch) -> None:
        self.changed.append(batch)
        self.sealed.set()

    async def until(self, step: Step, number: int) -> None:
        """Wait until a step of a batch is done."""
        batches = self.chain.ledger.store.batches
        while batches.settled(number, step) is None:
            await self.layer_one.l1.changed(1.0)

    def close(self) -> None:
        self.chain.close()
        self.layer_one.chain.close()


@contextlib.asynccontextmanager
async def running(config: RollupConfig) -> AsyncIterator[Pair]:
    pair = Pair()
    await pair.tie(config)
    task = asyncio.create_task(pair.rollup.run())
    try:
        async with asyncio.timeout(60):
            yield pair
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        pair.close()


QUICK = RollupConfig(sealing=SealingPolicy(max_age=0.01))


def test_a_deposit_goes_round_and_its_status_is_proven() -> None:
    async def play() -> None:
        async with running(QUICK) as pair:
            await pair.contracts.deposit(RECEIVER, 5)
            await pair.until(Step.EXECUTE, 1)
            deposited = pair.chain.ledger.record(1).transaction(0)
            proven = pair.rollup.proofs.of_transaction(deposited.hash)
            assert proven is not None
            assert (proven.batch, proven.log.key) == (1, deposited.hash)
            assert pair.changed[0].number == 1

    asyncio.run(play())


def test_it_says_how_far_things_are() -> None:
    async def play() -> None:
        async with running(QUICK) as pair:
            await pair.contracts.deposit(RECEIVER, 5)
            await pair.until(Step.EXECUTE, 1)
            await pair.rollup.settler.step(0.0)
            status = pair.rollup.status()
            assert status.problems == {}
            assert (status.next_deposit, status.sealed) == (1, 1)
            assert (status.committed, status.proven, status.executed) == (1, 1, 1)
            pair.rollup.settler.stopped = "commit of batch 2 failed: no"
            assert pair.rollup.status().problems == {"settlement": "commit of batch 2 failed: no"}

    asyncio.run(play())


def test_without_settlement_batches_are_sealed_and_stay_where_they_are() -> None:
    async def play() -> None:
        config = RollupConfig(sealing=QUICK.sealing, settles=False)
        async with running(config) as pair:
            pair.chain.seal_messages(1)
            await pair.sealed.wait()
            assert pair.rollup.status().sealed == 1
            assert (await pair.contracts.chain.totals()).committed == 0
            done = await pair.rollup.settler.perform(Step.COMMIT, 1, 0.0)
            assert pair.chain.ledger.store.batches.settled(1, Step.COMMIT) == done

    asyncio.run(play())
