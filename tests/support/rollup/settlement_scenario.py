"""A chain that settles on an L1, step by step as a test directs it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from entresol.chain.genesis.genesis import Genesis
from entresol.l1.contracts import ZkChain
from entresol.l1.deployment import SettlementContracts
from entresol.l1.fee_limits import FeeLimits
from entresol.l1.operator import Operator, OperatorKey, OperatorKeys
from entresol.primitives.batches import SettlementStep
from entresol.rollup.batcher import Batcher
from entresol.rollup.batches import SealingPolicy, stored_info_of
from entresol.rollup.deposits.deposit_watcher import DepositWatcher
from entresol.rollup.settlement.pending_tx import PendingSettlement
from entresol.rollup.settlement.settler import SettlementConfig, Settler
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.coroutines import completed
from tests.support.known import known
from tests.support.rollup.layer_ones import ACCOUNTS, Embedded, SteeredLayerOne, layer_one
from tests.support.rollup.layer_ones import CHAIN_ID as L1_CHAIN_ID
from tests.support.rollup.settlement_contracts import DeployedContracts, deploy
from tests.support.rollup.settling_chain import CHAIN_ID, GENESIS, SettlingChain

OPERATOR = ACCOUNTS[1]
ONE_KEY = OperatorKeys.of(OPERATOR.secret)
THREE_KEYS = OperatorKeys.of(*(account.secret for account in ACCOUNTS[1:4]))


class Scenario:
    contracts: DeployedContracts

    def __init__(
        self,
        steered: SteeredLayerOne,
        path: Path | None = None,
        config: SettlementConfig | None = None,
        limits: FeeLimits | None = None,
        keys: OperatorKeys = ONE_KEY,
        *,
        genesis: Genesis = GENESIS,
        chains_beside: Sequence[int] = (),
    ) -> None:
        self.keys = keys
        self.genesis = genesis
        self.chains_beside = chains_beside
        self.layer_one = steered
        self.l1 = steered.l1
        self.path = path
        self.config = config
        self.limits = limits
        self.open()

    def open(self) -> None:
        self.chain = SettlingChain.begin(self.path, self.genesis)
        self.batches = self.chain.batches
        self.batcher = Batcher(self.chain.blocks, self.chain.batches, SealingPolicy(max_age=1e9))

    async def deploy(self, on_l1: SettlementContracts | None = None) -> None:
        genesis = stored_info_of(self.batcher.last, CHAIN_ID).hash()
        validators = [key.address for key in self.keys.keys]
        if on_l1 is None:
            self.contracts = await deploy(
                self.l1, CHAIN_ID, genesis, *validators, chains_beside=self.chains_beside
            )
        else:
            chain = ZkChain(self.l1, on_l1.chain)
            self.contracts = DeployedContracts(chain, CHAIN_ID, on_l1, ACCOUNTS[0])
        self.settler = self.new_settler()
        self.watcher = DepositWatcher(self.chain, InlineSequencer(self.chain), self.contracts.chain)

    def new_settler(self, contradicted_block: Callable[[], int | None] = lambda: None) -> Settler:
        return Settler(
            self.chain,
            self.contracts.chain,
            {self._operator(key): key.steps for key in self.keys.keys},
            self.contracts.timelock,
            self.config,
            message_root=self.contracts.addresses.message_root,
            contradicted_block=contradicted_block,
        )

    def _operator(self, key: OperatorKey) -> Operator:
        return Operator(self.l1, key.secret, self.limits, key.name, chain_id=L1_CHAIN_ID)

    def restart(self) -> None:
        """End the process, and start it again."""
        self.chain.close()
        self.open()
        self.settler = self.new_settler()
        self.watcher = DepositWatcher(self.chain, InlineSequencer(self.chain), self.contracts.chain)

    def seal_batch(self, *messages: int) -> int:
        self.chain.seal_messages(*messages)
        batch = known(completed(self.batcher.seal(0.0)))
        return batch.number

    async def settle(self) -> None:
        async with asyncio.timeout(60):
            while await self.settler.step(0.0) or self.is_pending:
                pass

    @property
    def is_pending(self) -> bool:
        return any(self.settler.pending(step) is not None for step in SettlementStep)

    def pending(self) -> PendingSettlement:
        found = [self.settler.pending(step) for step in SettlementStep]
        (pending,) = [entry for entry in found if entry is not None]
        return pending

    def pass_over(self) -> None:
        """Drop the pending transaction on L1, and seal blocks without it."""
        for attempt in self.pending().transactions():
            self.layer_one.drop(attempt.hash)
        self.layer_one.mine(2)

    async def totals(self) -> tuple[int, int, int]:
        """Return how many batches L1 has, step by step."""
        totals = await self.contracts.chain.totals()
        return totals.committed, totals.verified, totals.executed


def run(
    steered: SteeredLayerOne,
    play: Callable[[Scenario], Awaitable[None]],
    *,
    on_l1: SettlementContracts | None = None,
    **options: Any,
) -> None:
    """Play a scenario with these options on a layer 1, which may have the contracts already."""

    async def whole() -> None:
        scenario = Scenario(steered, **options)
        try:
            await scenario.deploy(on_l1)
            await play(scenario)
        finally:
            scenario.chain.close()
            await scenario.l1.close()

    asyncio.run(whole())


class DeployedLayerOne:
    """An embedded layer 1 with the contracts of a chain: deployed once, and reverted for each scenario."""

    def __init__(self, keys: OperatorKeys = ONE_KEY) -> None:
        self._embedded = Embedded()
        self._on_l1: SettlementContracts | None = None

        async def remember(scenario: Scenario) -> None:
            self._on_l1 = scenario.contracts.addresses

        run(self._embedded, remember, keys=keys)
        self._l1 = self._embedded.l1
        self._checkpoint = self._embedded.checkpoint()

    def reverted(self) -> tuple[Embedded, SettlementContracts]:
        assert self._on_l1 is not None
        self._embedded.restore(self._checkpoint)
        self._checkpoint = self._embedded.checkpoint()
        self._embedded.chain.schedule.seal_at_once()
        self._embedded.l1 = self._l1
        return self._embedded, self._on_l1

    def close(self) -> None:
        self._embedded.chain.close()


def embedded(play: Callable[[Scenario], Awaitable[None]], **options: Any) -> None:
    with layer_one("embedded") as steered:
        run(steered, play, **options)


def on_disk(play: Callable[[Scenario], Awaitable[None]], tmp_path: Path, **options: Any) -> None:
    """Play a scenario on the embedded layer 1 with a chain that can be started again."""
    embedded(play, path=tmp_path / "chain", **options)
