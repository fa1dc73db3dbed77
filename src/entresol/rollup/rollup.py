"""Everything that ties a chain to its L1, as one thing to start, to look at and to stop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from entresol.rollup.batcher import Batcher
from entresol.rollup.batches import SealingPolicy
from entresol.rollup.deposits import DepositWatcher, WatchConfig
from entresol.rollup.proofs import Proofs
from entresol.rollup.settlement import SettlementConfig, Settler

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.chain.chain import Chain
    from entresol.l1.contracts import ZkChain
    from entresol.l1.operator import Operator
    from entresol.primitives.values import Address
    from entresol.storage.batches import Batch, Step


class RollupConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How a chain is tied to its L1."""

    sealing: SealingPolicy = msgspec.field(default_factory=SealingPolicy)
    deposits: WatchConfig = msgspec.field(default_factory=WatchConfig)
    settlement: SettlementConfig = msgspec.field(default_factory=SettlementConfig)
    settles: bool = True
    """Whether batches are settled without being asked to."""


class RollupStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How the two layers stand to each other."""

    next_deposit: int
    sealed: int
    committed: int
    proven: int
    executed: int
    problems: dict[str, str]
    """What does not work at the moment, by the part it concerns; empty if all is well."""


class Rollup:
    """Deposits in, batches out.

    Remembers and persists: nothing of its own. Assumes: one event loop, whose thread alone changes
    the chain. Fails: never as a whole; each part says in `status` what keeps it.
    """

    def __init__(
        self,
        chain: Chain,
        contract: ZkChain,
        operator: Operator,
        timelock: Address,
        config: RollupConfig | None = None,
        *,
        on_change: Callable[[Batch], None] = lambda _batch: None,
    ) -> None:
        self._config = config or RollupConfig()
        self._chain = chain
        self._on_change = on_change
        self.proofs = Proofs(chain.ledger.store)
        self.batcher = Batcher(
            chain.ledger.store, self._config.sealing, on_sealed=self._has_new_batch
        )
        self.watcher = DepositWatcher(chain, contract, self._config.deposits)
        self.settler = Settler(
            chain,
            contract,
            operator,
            timelock,
            self._config.settlement,
            on_settled=self._has_settled,
        )

    async def run(self) -> None:
        """Do everything that is to be done, for ever."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.watcher.run())
            tasks.create_task(self.batcher.run(self._chain.feed))
            if self._config.settles:
                tasks.create_task(self.settler.run())

    def status(self) -> RollupStatus:
        """Return how the layers stand to each other."""
        totals = self.settler.totals
        said = {
            "deposits": self.watcher.problem,
            "batches": self.batcher.problem,
            "settlement": self.settler.stopped or self.settler.problem,
        }
        return RollupStatus(
            next_deposit=self.watcher.next_id,
            sealed=self.batcher.last.number,
            committed=totals.committed,
            proven=totals.verified,
            executed=totals.executed,
            problems={part: problem for part, problem in said.items() if problem is not None},
        )

    def _has_new_batch(self, batch: Batch) -> None:
        self._on_change(batch)
        self.settler.wake()

    def _has_settled(self, _step: Step, number: int) -> None:
        batch = self._chain.ledger.store.batches.get(number)
        if batch is not None:
            self._on_change(batch)
