"""What runs between the layers: deposits come down, batches go up, prices follow."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any, Final

from entresol.errors import EntresolError, LayerOneFailed
from entresol.l1.contracts import ZkChain
from entresol.l1.operator import Operator
from entresol.node.metrics import Sample
from entresol.rollup.batcher import Batcher
from entresol.rollup.batches import SealingPolicy
from entresol.rollup.deposits import DepositConfig, DepositWatcher
from entresol.rollup.proofs import LogProver
from entresol.rollup.settler import SettlementConfig, Settler

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from entresol.chain.chain import Chain
    from entresol.chain.fees.l2_fees import FeeModel
    from entresol.node.config.schema import NodeConfig
    from entresol.node.settlement.settlement_layer import SettlementLayer
    from entresol.primitives.batches import Batch, SettlementStep
    from entresol.primitives.values import Hash32

logger = logging.getLogger(__name__)

PRICE_SECONDS: Final = 1.0


class Rollup:
    """Ties a layer 2 to the layer 1 of a site.

    Remembers: what its parts do. Persists: through them. Assumes: the event loop whose thread changes
    the chain. Fails: each part says what is wrong with it in `health` and goes on when it can.
    """

    def __init__(
        self, chain: Chain, settlement_layer: SettlementLayer, fees: FeeModel, config: NodeConfig
    ) -> None:
        settings = config.settlement
        policy = SealingPolicy(
            max_age=settings.settle_interval,
            max_blocks=settings.batch_blocks,
            max_logs=settings.batch_messages,
        )
        contract = ZkChain(settlement_layer.l1, settlement_layer.contracts.chain)
        self.settlement_layer = settlement_layer
        self.prover = LogProver(chain.blocks, chain.batches)
        self.batcher = Batcher(
            chain.blocks,
            chain.batches,
            policy,
            on_sealed=self._sealed,
            is_deferred=self._is_settling,
        )
        self.watcher = DepositWatcher(
            chain, contract, DepositConfig(confirmations=config.l1.l1_confirmations)
        )
        self.settler = Settler(
            chain,
            contract,
            Operator(settlement_layer.l1, settlement_layer.operator_secret),
            settlement_layer.contracts.validator_timelock,
            SettlementConfig(confirmations=config.l1.l1_confirmations),
        )
        self.on_batch: Callable[[Batch], None] = lambda _batch: None
        """Called with each batch that is sealed."""
        self._chain = chain
        self._fees = fees
        self._settles = settings.settle
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Follow both layers from now on."""
        works = [self._follow_prices(), self.watcher.run()]
        if self._settles:
            works += [self.batcher.run(self._chain.events), self.settler.run()]
        self._tasks = [asyncio.create_task(self._guard(work)) for work in works]

    async def stop(self) -> None:
        """Stop following, and let go of L1."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.settlement_layer.l1.close()

    async def settle(self, step: SettlementStep, batch: int) -> Hash32:
        """Do a step of a batch by hand, sealing it if it is the next one, and return L1's transaction."""
        if batch == self.batcher.last.number + 1:
            self.batcher.seal(time.monotonic())
        if not 1 <= batch <= self.batcher.last.number:
            last = self.batcher.last.number
            raise LayerOneFailed(f"there is no batch {batch} to settle: the last one is {last}")
        return (await self.settler.settle(step, batch)).transaction

    def health(self) -> dict[str, Any]:
        """Return what keeps each part from working; null is fine."""
        return {
            "deposits": self.watcher.problem,
            "batches": self.batcher.problem,
            "settlement": self.settler.stopped or self.settler.problem,
        }

    def figures(self) -> Iterator[Sample]:
        """Yield how far batches are settled, and which parts have a problem."""
        totals = self.settler.totals
        for step, number in (
            ("sealed", self.batcher.last.number),
            ("committed", totals.committed),
            ("proven", totals.verified),
            ("executed", totals.executed),
        ):
            yield Sample(f"settlement_{step}_batch", f"Number of the last {step} batch.", number)
        stopped = self.settler.stopped is not None
        yield Sample("settlement_stopped", "Whether a reverted step stopped settlement.", stopped)
        for part, problem in self.health().items():
            yield Sample(
                "settlement_problem",
                "Whether something keeps a part from going on.",
                problem is not None,
                labels=f'part="{part}"',
            )

    def _is_settling(self) -> bool:
        """Say whether a batch is on its way; sealed faster than L1 takes them, they would pile up."""
        return self.batcher.last.number > self.settler.totals.executed

    def _sealed(self, batch: Batch) -> None:
        self.on_batch(batch)
        self.settler.wake()

    async def _follow_prices(self) -> None:
        while True:
            try:
                self._fees.observe((await self.settlement_layer.l1.fees()).gas_price)
            except EntresolError as error:
                logger.debug("the gas price of L1 is not known: %s", error)
            await self.settlement_layer.l1.wait_for_block(PRICE_SECONDS)

    async def _guard(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception:
            logger.exception("a part of the node stopped")
            raise
