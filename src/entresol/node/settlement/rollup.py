"""The services between L1 and L2: deposits, batches, settlement, L1 gas price."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any

from entresol.background_task import BackgroundTask, stop_all
from entresol.chain.events import BlocksReverted
from entresol.chain.genesis.genesis_contracts import base_token_of
from entresol.errors import LayerOneFailed, LayerOneMismatch
from entresol.l1.operator import Operator
from entresol.node.config.schema import ETHER
from entresol.node.settlement.settlement_layer import (
    ether_price_watcher,
    fee_limits,
    required_confirmations,
    retry_until_reachable,
)
from entresol.primitives.batches import SettlementStep
from entresol.rollup.batcher import Batcher
from entresol.rollup.batches import SealingPolicy
from entresol.rollup.deposits.deposit_watcher import DepositConfig, DepositWatcher
from entresol.rollup.interop.interop_prover import InteropProver
from entresol.rollup.interop.root_follower import RootFollower
from entresol.rollup.l1_clock import L1Clock
from entresol.rollup.l1_prices import GasPriceWatcher
from entresol.rollup.log_prover import LogProver
from entresol.rollup.open_transfers import OpenTransfers
from entresol.rollup.publication.backlog import Backlog
from entresol.rollup.publication.publication import Publication, publication_report
from entresol.rollup.settlement.base_token_ratio import BaseTokenRatio
from entresol.rollup.settlement.genesis_publisher import GenesisPublisher
from entresol.rollup.settlement.operator_balance import OperatorBalance
from entresol.rollup.settlement.settler import SettlementConfig, Settler

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from fractions import Fraction

    from entresol.chain.chain import Chain
    from entresol.chain.events import Event
    from entresol.chain.fees import FeeModel
    from entresol.chain.journal import Journal
    from entresol.l1.deployment import SettlementContracts
    from entresol.node.config.schema import NodeConfig
    from entresol.node.settlement.settlement_layer import SettlementLayer
    from entresol.primitives.values import Hash32
    from entresol.rollup.l1_prices import EtherPriceWatcher
    from entresol.sequencer.sequencer import Sequencer

logger = logging.getLogger(__name__)


class Rollup:
    """Runs deposit watcher, batcher and settler of an L2.

    Fails: each service reports its problem in `health`, and retries.
    """

    def __init__(  # noqa: PLR0913 - independent parts
        self,
        chain: Chain,
        sequencer: Sequencer,
        settlement_layer: SettlementLayer,
        fees: FeeModel,
        config: NodeConfig,
        *,
        journal: Journal | None = None,
        ether_price: EtherPriceWatcher | None = None,
    ) -> None:
        """Make the parts; `journal` is where they persist, the store by default; `ether_price` runs elsewhere."""
        settings = config.settlement
        policy = SealingPolicy(max_age=settings.settle_interval, max_blocks=settings.batch_blocks)
        contract = settlement_layer.contract
        confirmations, finality = required_confirmations(config.l1), config.l1.l1_finality
        self.settlement_layer = settlement_layer
        self.prover = LogProver(chain.blocks, chain.batches)
        self.interop_prover = InteropProver.of(chain, self.prover)
        self.transfers = OpenTransfers(
            chain, settlement_layer.l1, settlement_layer.contracts.nullifier
        )
        reading = DepositConfig(confirmations=confirmations, finality=finality)
        self.watcher = DepositWatcher(*(chain, sequencer, contract), reading, journal=journal)
        self.roots = RootFollower(
            *(chain, sequencer, settlement_layer.message_root, settlement_layer.l1_chain_id),
            reading,
            journal=journal,
        )
        keys, limits = settlement_layer.operator_keys.keys, fee_limits(config.l1)
        low = int(config.l1.operator_low_balance * ETHER)
        self.balances = [OperatorBalance(settlement_layer.l1, key, low) for key in keys]
        self.clock = L1Clock(settlement_layer.l1, chain.clock)
        self.settler = Settler(
            chain,
            contract,
            {
                Operator(
                    settlement_layer.l1,
                    *(key.secret, limits, key.name),
                    chain_id=settlement_layer.l1_chain_id,
                ): key.steps
                for key in keys
            },
            settlement_layer.contracts.validator_timelock,
            SettlementConfig(
                confirmations=confirmations, finality=finality, is_on_request=not settings.settle
            ),
            message_root=settlement_layer.contracts.message_root,
            contradicted_block=lambda: self.roots.importer.first_contradicted_block,
            may_begin=lambda: self.genesis.is_published,
            journal=journal,
        )
        self.genesis = GenesisPublisher(
            chain.batches,
            contract,
            lambda: self.settlers,
            confirmations=confirmations,
            finality=finality,
        )
        """Publishes the genesis, if the chain publishes at all."""
        self.settlers: Sequence[Settler] = (self.settler,)
        """The settlers that may have the key of the chain's admin: its own, and those of the chains beside it."""
        self.batcher = Batcher(
            chain.blocks,
            chain.batches,
            policy,
            journal=journal,
            settlement=self.settler,
            publication=Publication.of(chain),
        )
        self.sealed = self.batcher.sealed
        self.sealed.add(lambda _batch: self.genesis.wake())
        self.backlog: Backlog | None = None
        """The batches that L1 has not taken yet; a node that settles on request has those it is asked for."""
        if chain.rules.publishes and settings.settle:
            self.backlog = Backlog(
                chain.batches, lambda: self.settler.stopped or self.settler.problem
            )
            self.sealed.add(self.backlog.on_sealed)
        self.chain = chain
        self._contract = contract
        self._fees = fees
        self._gas_price = GasPriceWatcher(settlement_layer.l1, fees, limits)
        self._follows_price = ether_price is None
        self.ether_price = ether_price or ether_price_watcher(
            *(settlement_layer, fees, config.l1),
            # Cheaper gas may be what a transaction was waiting for. Not while L1 seals a block.
            on_repriced=lambda: asyncio.get_running_loop().call_soon(sequencer.wake),
        )
        self._settles = settings.settle
        self._is_remote = config.l1.l1_url is not None
        self._tasks: list[BackgroundTask] = []
        chain.events.listen(self._on_reverted, BlocksReverted)

    @property
    def l1_chain_id(self) -> int:
        """The chain id of L1."""
        return self.settlement_layer.l1_chain_id

    @property
    def contracts(self) -> SettlementContracts:
        """The contracts on L1."""
        return self.settlement_layer.contracts

    def new_interop_prover(self) -> InteropProver:
        """Return what proves logs to other L2s, for one thread beside that of the methods."""
        prover = LogProver(self.chain.blocks, self.chain.batches)
        return InteropProver.of(self.chain, prover)

    async def start(self) -> None:
        """Start the services."""
        if self.backlog is not None:
            self.chain.admission.add(self.backlog)
        services: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {
            "gas price of L1": self._gas_price.run,
            "deposits": self.watcher.run,
            "roots of other chains": self.roots.run,
        }
        if self.ether_price is not None and self._follows_price:
            services["price of ether"] = self.ether_price.run
        if self._settles:
            services["batches"] = lambda: self.batcher.run(self.chain.events)
            if self.chain.rules.publishes:
                services["genesis"] = self.genesis.run
            services |= {f"balance of {balance.key.name}": balance.run for balance in self.balances}
        if self._is_remote:
            services["clock of L1"] = self.clock.run
        if self._settles or self._is_remote:
            # The development L1 reports what it reverts.
            services["settlement"] = self.settler.run
        self._tasks = [BackgroundTask(name, run) for name, run in services.items()]
        for task in self._tasks:
            task.start()

    async def read_prices(self) -> None:
        """Wait for what ether costs in the base token, so that prices are those of L1 from the first request on.

        Without a price that could be, those of the settings stay, and the problem is reported.
        """
        price = self.ether_price
        if price is None:
            return
        try:
            await retry_until_reachable(self.settlement_layer.l1, price.step)
        except LayerOneMismatch:
            await price.refresh()

    async def stop(self) -> None:
        """Stop the services."""
        if self.backlog is not None:
            self.chain.admission.remove(self.backlog)
        await stop_all(self._tasks)

    async def settle(self, step: SettlementStep, batch: int) -> Hash32:
        """Send one settlement step of a batch, sealing the batch if it is the next one; return L1's transaction."""
        if batch == self.batcher.last.number + 1:
            await self.batcher.seal(time.monotonic())
        if not 1 <= batch <= self.batcher.last.number:
            last = self.batcher.last.number
            raise LayerOneFailed(f"there is no batch {batch} to settle: the last one is {last}")
        await self.genesis.ensure()
        return (await self.settler.settle(step, batch)).transaction

    async def book(self, batch: int) -> Hash32:
        """Have L1 book an executed batch, and return L1's transaction."""
        return (await self.settler.book(batch)).transaction

    async def set_ratio(self, tokens: Fraction) -> Hash32:
        """Let an ether cost so many base tokens on L1, and return L1's transaction; raises `ValueError`."""
        decimals = base_token_of(self.chain.genesis.alloc).decimals
        registrar = self.contracts.chain_registration_sender
        ratio = BaseTokenRatio(self._contract, self._fees, decimals, self.settlers, registrar)
        sent = await ratio.set(tokens)
        # If it is confirmed, the caller finds every price changed.
        if self.ether_price is not None:
            await self.ether_price.refresh()
        return sent

    def health(self) -> dict[str, Any]:
        """Return the problem of each service; None if it works."""
        price = self.ether_price
        return {
            "deposits": self.watcher.problem,
            "batches": self.batcher.problem,
            **({"genesis": self.genesis.problem} if self.chain.rules.publishes else {}),
            **({} if self.backlog is None else {"backlog": self.backlog.problem}),
            "settlement": self.settler.stopped or self.settler.problem,
            "books": self.settler.books.problem,
            "gasPrice": self._gas_price.problem,
            **({} if price is None else {"etherPrice": price.problem}),
            "interop": self.roots.problem,
            "operator": "; ".join(balance.problem for balance in self.balances if balance.problem)
            or None,
        }

    def report(self) -> dict[str, Any]:
        """Return `health`, and what is not a failure of the node: what L1 has not of the chain."""
        return {
            **self.health(),
            **(publication_report(self.chain.batches) if self.chain.rules.publishes else {}),
        }

    @property
    def problem(self) -> str | None:
        """The first thing that fails and is tried again, or puts settlement at risk; None if nothing does."""
        failed = (task.problem for task in self._tasks)
        blocked = (f"{part}: {problem}" for part, problem in self.health().items() if problem)
        return (
            self.clock.problem
            or next((problem for problem in failed if problem), None)
            or next(blocked, None)
        )

    def _on_reverted(self, _event: Event) -> None:
        # A chain that was reset has its first batch before anything settles again.
        self.batcher.begin()
        self.genesis.reset()
        if self.backlog is not None:
            self.backlog.reload()
        self.settler.books.reset()
