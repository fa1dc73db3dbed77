"""What runs between the layers: deposits come down, batches go up, prices follow."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any, Final

from entresol.errors import EntresolError, LayerOneFailed
from entresol.l1.contracts import ZkChain
from entresol.l1.operator import Operator
from entresol.node.gauges import Figure
from entresol.rollup.batcher import Batcher
from entresol.rollup.batches import SealingPolicy
from entresol.rollup.deposits import DepositWatcher, WatchConfig
from entresol.rollup.proofs import Proofs
from entresol.rollup.settlement import SettlementConfig, Settler

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from entresol.chain.chain import Chain
    from entresol.chain.l2_fees import FeeModel
    from entresol.node.config import NodeConfig
    from entresol.node.site import Site
    from entresol.primitives.values import Hash32
    from entresol.storage.batches import Batch, Step

logger = logging.getLogger(__name__)

PRICE_SECONDS: Final = 1.0


class Rollup:
    """Ties a layer 2 to the layer 1 of a site.

    Remembers: what its parts do. Persists: through them. Assumes: the event loop whose thread changes
    the chain. Fails: each part says what is wrong with it in `health` and goes on when it can.
    """

    def __init__(self, chain: Chain, site: Site, fees: FeeModel, config: NodeConfig) -> None:
        settings, store = config.settlement, chain.ledger.store
        policy = SealingPolicy(
            max_age=settings.settle_interval,
            max_blocks=settings.batch_blocks,
            max_logs=settings.batch_messages,
        )
        contract = ZkChain(site.l1, site.contracts.chain)
        self.site = site
        self.proofs = Proofs(store)
        self.batcher = Batcher(store, policy, on_sealed=self._sealed, is_held=self._is_settling)
        self.watcher = DepositWatcher(
            chain, contract, WatchConfig(confirmations=config.l1.l1_confirmations)
        )
        self.settler = Settler(
            chain,
            contract,
            Operator(site.l1, site.operator_secret),
            site.contracts.validator_timelock,
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
            works += [self.batcher.run(self._chain.feed), self.settler.run()]
        self._tasks = [asyncio.create_task(self._guard(work)) for work in works]

    async def stop(self) -> None:
        """Stop following, and let go of L1."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.site.l1.close()

    async def settle(self, step: Step, batch: int) -> Hash32:
        """Do a step of a batch by hand, sealing it if it is the next one, and return L1's transaction."""
        if batch == self.batcher.last.number + 1:
            self.batcher.seal(time.monotonic())
        if not 1 <= batch <= self.batcher.last.number:
            last = self.batcher.last.number
            raise LayerOneFailed(f"there is no batch {batch} to settle: the last one is {last}")
        return (await self.settler.perform(step, batch)).transaction

    def health(self) -> dict[str, Any]:
        """Return what keeps each part from working; null is fine."""
        return {
            "deposits": self.watcher.problem,
            "batches": self.batcher.problem,
            "settlement": self.settler.stopped or self.settler.problem,
        }

    def figures(self) -> Iterator[Figure]:
        """Yield how far batches are settled, and which parts have a problem."""
        totals = self.settler.totals
        for step, number in (
            ("sealed", self.batcher.last.number),
            ("committed", totals.committed),
            ("proven", totals.verified),
            ("executed", totals.executed),
        ):
            yield Figure(f"settlement_{step}_batch", f"Number of the last {step} batch.", number)
        stopped = self.settler.stopped is not None
        yield Figure("settlement_stopped", "Whether a reverted step stopped settlement.", stopped)
        for part, problem in self.health().items():
            yield Figure(
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
                self._fees.observe((await self.site.l1.fees()).gas_price)
            except EntresolError as error:
                logger.debug("the gas price of L1 is not known: %s", error)
            await self.site.l1.changed(PRICE_SECONDS)

    async def _guard(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception:
            logger.exception("a part of the node stopped")
            raise
