"""Seal batches: add the chain's blocks to the open batch, and seal it when it is full or due."""

from __future__ import annotations

import logging
import math
import time
from typing import TYPE_CHECKING, Final

from entresol.chain.events import BLOCK_EVENTS
from entresol.chain.journal import StoreJournal
from entresol.errors import StoreDamaged
from entresol.listeners import Listeners
from entresol.rollup.batches import OpenBatch, SealingPolicy, frontier_after, sealed_genesis
from entresol.rollup.step_loop import Backoff, StepLoop, WakeLimit
from entresol.storage.log_entries import BatchEntry

if TYPE_CHECKING:
    from entresol.chain.events import ChainEvents
    from entresol.chain.journal import Journal
    from entresol.primitives.batches import Batch
    from entresol.primitives.records import BlockRecord
    from entresol.primitives.values import Hash32
    from entresol.rollup.priority_tree import Frontier
    from entresol.rollup.publication.publication import Publication
    from entresol.rollup.settlement.settler import Settler
    from entresol.storage.batch_table import BatchTable
    from entresol.storage.store_view import StoreView

log = logging.getLogger(__name__)

BLOCKS_PER_STEP: Final = 256
RETRY_SECONDS: Final = 1.0
DEFERRED_SECONDS: Final = 0.05
COLLECT_SECONDS: Final = 0.02
"""How often new blocks are looked at: a step for each would delay the next request of a client that sends many."""


class Batcher:
    """Groups sealed blocks into batches.

    Persists: sealed batches, each by one entry of the journal; the open one is rebuilt from the blocks after the last
    batch. When the chain is reverted, the store removes every batch with a reverted block, and the open batch starts
    after the last one that is left; the settler checks whether L1 has one of those removed. While a sealed batch
    settles, one that is due only by its age grows. Fails: with `BatchOverflow` for a block that fits into no batch,
    and with the store's errors; nothing is lost, and `run` retries.
    """

    def __init__(
        self,
        blocks: StoreView,
        batches: BatchTable,
        policy: SealingPolicy | None = None,
        *,
        journal: Journal | None = None,
        settlement: Settler | None = None,
        publication: Publication | None = None,
    ) -> None:
        """Take the parts; without a `publication` the batches publish nothing."""
        self._blocks = blocks
        self._batches = batches
        self._journal = journal or StoreJournal(batches)
        self._policy = policy or SealingPolicy()
        self._settlement = settlement
        self._publication = publication
        self.sealed: Listeners[[Batch]] = Listeners()
        """Notified of each sealed batch."""
        self._steps = StepLoop(
            self._poll,
            log,
            failing="cannot seal a batch",
            backoff=Backoff(RETRY_SECONDS, RETRY_SECONDS),
        )
        self._open, self._last_hash = self._reopen()

    @property
    def problem(self) -> str | None:
        """Why no batch can be sealed at the moment."""
        return self._steps.problem

    @property
    def last(self) -> Batch:
        """The last sealed batch; a new chain, or one that was reset, gets the batch of the genesis."""
        return self._batches.last() or self._seal_genesis()

    def begin(self) -> None:
        """Seal the batch of the genesis, unless the chain has a batch: it may be new, or was reset."""
        if self._batches.last() is None:
            self._seal_genesis()

    @property
    def is_behind(self) -> bool:
        """Whether there are blocks that are in no batch yet, not even in the open one."""
        return self._open.next_block <= (self._blocks.head_number or 0)

    async def step(self, now: float) -> list[Batch]:
        """Add some blocks to the open batch, and return the batches that this sealed."""
        if self._was_reverted():
            self._open, self._last_hash = self._reopen()
        sealed = []
        for _ in range(BLOCKS_PER_STEP):
            if not self.is_behind:
                break
            record = self._record(self._open.next_block)
            if not self._open.has_room_for(record, self._policy):
                sealed.append(await self._seal())
            self._add(record, now)
        if self._is_due(now):
            sealed.append(await self._seal())
        return sealed

    async def seal(self, now: float) -> Batch | None:
        """Seal all blocks that are in no batch, and return the last batch; None if there are none."""
        sealed = await self.step(now)
        while self.is_behind:
            sealed += await self.step(now)
        if self._open.blocks:
            return await self._seal()
        return sealed[-1] if sealed else None

    def due_in(self, now: float) -> float:
        """Return the seconds until a batch is due by its age; `math.inf` if it has no transaction."""
        if self.is_behind:
            return 0.0
        since = self._open.active_since
        if since is None:
            return math.inf
        earliest = DEFERRED_SECONDS if self._is_held() else 0.0
        return max(earliest, since + self._policy.max_age - now)

    async def run(self, chain_events: ChainEvents) -> None:
        """Seal batches for ever."""
        wake = WakeLimit(self._steps.wake, COLLECT_SECONDS)
        subscription = chain_events.subscribe(*BLOCK_EVENTS, backlog=1, wake=wake)
        try:
            await self._steps.run()
        finally:
            wake.close()
            chain_events.unsubscribe(subscription)

    def _seal_genesis(self) -> Batch:
        sealed = sealed_genesis(self._record(self._blocks.first_number), self._publication)
        self._batches.append(*sealed)
        return sealed.batch

    async def _poll(self) -> float:
        now = time.monotonic()
        await self.step(now)
        return self.due_in(now)

    def _is_due(self, now: float) -> bool:
        if self._open.is_full(self._policy):
            return True
        return self._open.is_old(self._policy, now) and not self._is_held()

    def _add(self, record: BlockRecord, now: float) -> None:
        self._open.add(record, now)
        self._last_hash = self._blocks.block_hash(self._open.next_block - 1)

    async def _seal(self) -> Batch:
        sealed = self._open.seal()
        batch = sealed.batch
        if batch.hashed_from and not self.last.hashed_from:
            log.warning(
                "block %d has edits that are larger than a batch: L1 has only their hash, so it is not enough to rebuild "
                "the chain from there on",
                batch.hashed_from,
            )
        await self._journal.write(BatchEntry.of(*sealed))
        frontier = self._open.frontier.extend(self._open.priority)
        self._open = self._opened(batch, frontier)
        log.debug(
            "sealed batch %d: blocks %d to %d, %d transactions, %d messages, %d bytes published",
            *(batch.number, batch.first_block, batch.last_block, batch.transactions, batch.logs),
            batch.data_size,
        )
        self.sealed.notify(batch)
        if self._settlement is not None:
            self._settlement.wake()
        return batch

    def _is_held(self) -> bool:
        """Say whether a sealed batch is not executed yet; batches sealed faster than L1 executes them would pile up."""
        return self._settlement is not None and self.last.number > self._settlement.totals.executed

    def _reopen(self) -> tuple[OpenBatch, Hash32 | None]:
        """Return the open batch after the last sealed one, and the hash of the block before it."""
        last = self.last
        self._reverts = self._blocks.reverts
        frontier = frontier_after(self._blocks, last)
        return self._opened(last, frontier), self._blocks.block_hash(last.last_block)

    def _opened(self, last: Batch, frontier: Frontier) -> OpenBatch:
        """Return the open batch after `last`."""
        number, first_block = last.number + 1, last.last_block + 1
        publication = self._publication
        body = None if publication is None else publication.open(last)
        return OpenBatch(number, first_block, frontier, body)

    def _was_reverted(self) -> bool:
        # A chain may be reverted and seal identical blocks again, but their batch was removed, or they have other
        # prices, which no hash covers.
        same_batch = self.last.number + 1 == self._open.number
        return not same_batch or self._reverts != self._blocks.reverts or not self._has_last_block

    @property
    def _has_last_block(self) -> bool:
        return self._last_hash == self._blocks.block_hash(self._open.next_block - 1)

    def _record(self, number: int) -> BlockRecord:
        record = self._blocks.get_record(number)
        if record is None:
            raise StoreDamaged(self._blocks.path, f"block {number} is missing")
        return record
