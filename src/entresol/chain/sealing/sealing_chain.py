"""A chain that seals blocks of what is pending."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, Self

from entresol.chain.chain_view import ChainView
from entresol.chain.edits import stored_edits
from entresol.chain.events import BlockSealed, ChainEvents
from entresol.chain.mempool import Mempool, PoolConfig
from entresol.chain.mempool.sidecars import BlobSidecars
from entresol.chain.mining_schedule import MiningMode, MiningSchedule
from entresol.chain.sealing.block_producer import BlockProducer, begin_block
from entresol.chain.sealing.block_write import BlockWrite
from entresol.chain.sealing.open_block import BuildState, OpenBlock
from entresol.chain.sealing.pending_block import PendingBlock
from entresol.chain.sealing.rejections import Rejections
from entresol.storage.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from entresol.chain.clock import Clock
    from entresol.chain.genesis.genesis import Genesis
    from entresol.chain.genesis.stored_genesis import ExpectedGenesis
    from entresol.chain.rules import ChainRules
    from entresol.execution.block_executor import BlockExecutor, ExecutedBlock
    from entresol.execution.work_budget import WorkBudget
    from entresol.primitives.headers import Header
    from entresol.primitives.records import BlockRecord
    from entresol.primitives.transactions import Transaction
    from entresol.storage.price_table import Prices

QUICK_EDITS: Final = 256
"""How many edited accounts a block may have to be hashed and written on the event loop: each takes some 20 microseconds."""


class SealingChain(ChainView):
    """Seals blocks, and shows the pending one; `AcceptingChain` adds what comes into them.

    Remembers: the pool, the priority queue, and the block that is being written. Persists: sealed
    blocks, through the ledger. Assumes: one thread writes; any thread may read sealed blocks. Fails: an error leaves
    the chain unchanged.
    """

    def __init__(
        self,
        store: Store,
        rules: ChainRules,
        genesis: Genesis | ExpectedGenesis,
        *,
        clock: Clock | None = None,
        pool: PoolConfig | None = None,
    ) -> None:
        super().__init__(store, rules, genesis, clock)
        self.events = ChainEvents()
        self.pool = Mempool(
            rules.validation_rules(), self.ledger.latest, base_fee=self.next_base_fee(), config=pool
        )
        self.pool.blob_base_fee = self.next_blob_base_fee()
        self.sidecars = BlobSidecars()
        self.rejections = Rejections(self.pool)
        self.schedule = MiningSchedule(self._set_pool_order)
        self.producer = BlockProducer(self.ledger, self.pool)
        self._pending = PendingBlock(self.ledger, self.pool, self.producer, self.clock, self._edits)
        self._writing: BlockWrite | None = None
        self.clock.before_change(self.flush)

    @classmethod
    def open(  # noqa: PLR0913 - independent parts
        cls,
        path: Path | None,
        rules: ChainRules,
        genesis: Genesis | ExpectedGenesis,
        *,
        durable: bool = True,
        shared: bool = False,
        clock: Clock | None = None,
        pool: PoolConfig | None = None,
    ) -> Self:
        """Open the chain in the directory `path`, or a temporary one; `shared` lets other processes read it."""
        store = (
            Store.temporary(shared=shared)
            if path is None
            else Store.open(path, durable=durable, shared=shared)
        )
        try:
            return cls(store, rules, genesis, clock=clock, pool=pool)
        except BaseException:
            store.close()
            raise

    def close(self) -> None:
        """Close the store."""
        self.flush()
        self.ledger.store.close()

    def recover(self) -> bool:
        """Try to seal blocks again after a failed write; return whether that is possible."""
        if self.failure is not None:
            self.flush()
        return super().recover()

    # The pending block

    def pending(self, *, budget: WorkBudget | None = None) -> BlockExecutor:
        """Return the pending block with its transactions executed; it is shared and must not be changed.

        Raises `GasBudgetSpent` if building it takes more work than is left of a budget.
        """
        return self._pending.filled(budget)

    def pending_block(self, *, budget: WorkBudget | None = None) -> ExecutedBlock:
        """Return the pending block with its header and roots."""
        return self._pending.finished(budget)

    def cached_pending(self) -> BlockExecutor | None:
        """Return the pending block if it has not changed since it was built."""
        return self._pending.cached()

    @property
    def is_pending_quick(self) -> bool:
        """Whether `pending` takes no more than a few milliseconds: it is cached, or has little to execute."""
        return self.cached_pending() is not None or not self.is_heavy

    def adopt_pending(self, block: OpenBlock, version: int) -> None:
        """Let `pending` return a block that was built elsewhere on this version of the pool, until it would change."""
        assert block.executed is not None
        if self.pool.version == version and self.is_next(block):
            self._pending.adopt(block.executor, block.executed)

    # Sealing

    @property
    def is_heavy(self) -> bool:
        """Whether the next block takes more than a few milliseconds to execute, or to hash what was edited."""
        return self._edits.accounts > QUICK_EDITS or self.producer.is_heavy

    def is_due(self, now: float) -> bool:
        """Return whether the next block is due at `now`, a monotonic time, and if so schedule the next one."""
        has_work = self.schedule.mode is MiningMode.DELAYED and self.producer.has_work
        return self.schedule.is_due(now, has_work=has_work)

    def seal_pending(self, *, budget: WorkBudget | None = None) -> None:
        """Seal blocks until no pending transaction can be included; raise `GasBudgetSpent` beyond a budget for all."""
        while self.producer.has_work:
            header = self.seal_work(budget=budget)
            if header is not None and not header.gas_used:
                return

    def seal_work(self, *, budget: WorkBudget | None = None) -> Header | None:
        """Seal the next block, unless it has rejected all that it could have included."""
        block = self._fill(budget=budget)
        return self._seal(block) if block.transactions or not block.rejected else None

    def seal(self, *, limit: int | None = None, budget: WorkBudget | None = None) -> Header:
        """Seal the next block, even if it is empty; raise `GasBudgetSpent` if it takes more work than a budget."""
        return self._seal(self._fill(limit, budget))

    def _fill(self, limit: int | None = None, budget: WorkBudget | None = None) -> BlockExecutor:
        """Return the next block, and drop what it has rejected from the pool; a spent budget drops nothing."""
        self.flush()
        block = self.producer.fill(
            self._next_timestamp(), *self._edits.stored(), limit=limit, budget=budget
        )
        self.rejections.apply(block.rejected)
        return block

    def _seal(self, block: BlockExecutor) -> Header:
        return self.append(block.finish(self.ledger.trie), self.rules.fees.prices())

    def open_block(self, *, budget: WorkBudget | None = None) -> OpenBlock:
        """Open the next block, to execute its transactions on any thread, and then to seal it here.

        Executing it raises `GasBudgetSpent` if it takes more work than is left of a budget.
        """
        self.flush()
        producer, state = self.producer, self._build_state()
        executor = producer.create(self._next_timestamp())
        executor.budget = budget
        parts = producer.first_priority(), producer.best_for(executor), self.ledger.trie, state
        if self._edits.accounts <= QUICK_EDITS:
            begin_block(executor, *self._edits.stored())
            return OpenBlock(executor, *parts)
        edited = self._edits.checkpoint()
        return OpenBlock(
            executor,
            *parts,
            begin=lambda: begin_block(executor, *stored_edits(edited)),
            prepare_write=self.ledger.prepare_write,
        )

    def is_next(self, block: OpenBlock) -> bool:
        """Return whether nothing has changed since the block was opened, so that it is still the next one."""
        return block.state == self._build_state() and self.producer.has_all(block.transactions)

    def write_open(self, block: OpenBlock) -> BlockWrite | None:
        """Write a finished block, to make it durable on any thread, and then to show it; None if it is not the next."""
        assert block.executed is not None
        self.flush()
        if not self.is_next(block):
            return None
        self.rejections.apply(block.executor.rejected)
        self.ledger.write(block.executed, self.rules.fees.prices())
        self._writing = BlockWrite(block.executed, partial(self.ledger.sync, block.executed))
        return self._writing

    def show(self, write: BlockWrite) -> Header:
        """Make a block that was written the head; raise what prevented that it is durable."""
        if self._writing is write:
            self.flush()
        if write.error is not None:
            raise write.error
        return write.executed.header

    def reject(self, block: OpenBlock) -> None:
        """Drop what a block has rejected from the pool."""
        self.rejections.apply(block.executor.rejected)

    def flush(self) -> None:
        """Make the block that is being written the head now, and wait for the disk if need be.

        Whatever changes the chain calls this first, so that it comes after that block.
        """
        write = self._writing
        if write is None:
            return
        write.sync()
        self._writing = None
        if write.error is None:
            self.ledger.show(write.executed)
            self._on_sealed(write.executed)

    def import_block(
        self, record: BlockRecord, *, execute: bool = False, prices: Prices | None = None
    ) -> None:
        """Import a block that another node sealed, with the prices it had there."""
        self.flush()
        self.ledger.import_block(record, execute=execute, prices=prices)
        sealed = BlockSealed(self.number, self.ledger.head_hash, self.head)
        self._on_new_head(record, record.decoded(), sealed)

    def set_finality(self, safe: int | None = None, finalized: int | None = None) -> None:
        """Set the safe and the finalized block; what is not given stays."""
        self.finality = self.finality.updated(safe, finalized)

    def append(self, executed: ExecutedBlock, prices: Prices | None) -> Header:
        """Seal an executed block, which must be the next one."""
        self.flush()
        self.ledger.append(executed, prices)
        self._on_sealed(executed)
        return executed.header

    def _on_sealed(self, executed: ExecutedBlock) -> None:
        self.producer.on_sealed(executed)
        header, ledger = executed.header, self.ledger
        self.clock.on_sealed(header.timestamp)
        ledger.settings = ledger.settings.after_block()
        self.sidecars.add(header.number, executed.transactions)
        sealed = BlockSealed(
            header.number, ledger.head_hash, header, executed.failures, executed.console
        )
        self._on_new_head(executed.record, executed.transactions, sealed)

    def _set_pool_order(self, mode: MiningMode) -> None:
        """With automine transactions are included as they arrive: a later one may build on any before it."""
        self.pool.order = "fifo" if mode.is_automine else self.pool.config.order

    def _build_state(self) -> BuildState:
        return BuildState(self.ledger.head_hash, self.latest, self.clock.state, self.settings)

    def _next_timestamp(self) -> int:
        return self.clock.next_timestamp(self.head.timestamp)

    def _on_new_head(
        self,
        record: BlockRecord,
        transactions: Iterable[Transaction],
        sealed: BlockSealed,
    ) -> None:
        self._edits.restore(None)
        self.pool.blob_base_fee = self.next_blob_base_fee()
        self.pool.penalties.block = sealed.number
        self.pool.on_block(
            [transaction.hash for transaction in transactions],
            self.ledger.latest,
            self.next_base_fee(),
            touched=(change.address for change in record.changes),
        )
        self.events.publish(sealed)
