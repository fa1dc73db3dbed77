"""Build the next block, to show it as the pending one or to seal it."""

from __future__ import annotations

from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Final

from entresol.chain.edits import stored_edits
from entresol.chain.events import BlockSealed, ChainEvents
from entresol.chain.sealing.block_filler import begin_block
from entresol.chain.sealing.l1_queues import include_roots
from entresol.chain.sealing.pending_block import OpenBlock, PendingBlock, is_vain
from entresol.chain.sealing.pool_inclusion import ColdFound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from entresol.chain.mempool import Mempool
    from entresol.chain.mempool.sidecars import BlobSidecars
    from entresol.chain.sealing.block_filler import BlockFiller, NextBlock
    from entresol.chain.sealing.pool_inclusion import Rejections
    from entresol.execution.block_executor import BlockExecutor, ExecutedBlock
    from entresol.execution.limits import WorkBudget
    from entresol.primitives.headers import Header
    from entresol.primitives.records import BlockRecord
    from entresol.primitives.transactions import Transaction
    from entresol.storage.block_rows import Prices


QUICK_EDITS: Final = 256
"""How many edited accounts a block may have to be hashed and written on the event loop: each takes some 20 microseconds."""


class BlockWrite:
    """An executed block that is written, but not yet durable or shown; `sync` makes it durable, whoever calls it first."""

    def __init__(self, executed: ExecutedBlock, sync: Callable[[], None]) -> None:
        self.executed = executed
        self.error: Exception | None = None
        self._sync = sync
        self._is_done = False
        self._lock = Lock()

    def sync(self) -> None:
        """Make the block durable; the second call waits for the first one."""
        with self._lock:
            if self._is_done:
                return
            try:
                self._sync()
            except Exception as error:  # noqa: BLE001  # raised where the block is shown
                self.error = error
            self._is_done = True


class BlockAppender:
    """Appends blocks, with all that follows from a new head: what was pending, edited or set for it is gone."""

    def __init__(
        self,
        next_block: NextBlock,
        pool: Mempool,
        filler: BlockFiller,
        sidecars: BlobSidecars,
        events: ChainEvents,
    ) -> None:
        self._next = next_block
        self._ledger = next_block.ledger
        self._pool = pool
        self._filler = filler
        self._sidecars = sidecars
        self._events = events
        self._writing: BlockWrite | None = None

    def append(
        self, executed: ExecutedBlock, prices: Prices | None, *, sync: bool = True
    ) -> Header:
        """Seal an executed block, which must be the next one; without `sync` a later write makes it durable."""
        self.flush()
        self._ledger.append(executed, prices, sync=sync)
        self._on_sealed(executed)
        return executed.header

    def write(self, executed: ExecutedBlock, prices: Prices | None) -> BlockWrite:
        """Write an executed block, which must be the next one, to make it durable on any thread, and then to `show` it."""
        self.flush()
        self._ledger.write(executed, prices)
        self._writing = BlockWrite(executed, partial(self._ledger.sync, executed))
        return self._writing

    def show(self, write: BlockWrite) -> Header:
        """Make a block that was written the head; raise what prevented that it is durable."""
        if self._writing is write:
            self.flush()
        if write.error is not None:
            raise write.error
        return write.executed.header

    def flush(self) -> None:
        """Make the block that is being written the head now, and wait for the disk if need be."""
        write = self._writing
        if write is None:
            return
        write.sync()
        self._writing = None
        if write.error is None:
            self._ledger.show(write.executed)
            self._on_sealed(write.executed)

    def import_block(
        self, record: BlockRecord, *, execute: bool = False, prices: Prices | None = None
    ) -> None:
        """Append a block that another node sealed, with the prices it had there."""
        self.flush()
        ledger = self._ledger
        ledger.import_block(record, execute=execute, prices=prices)
        sealed = BlockSealed(ledger.head.number, ledger.head_hash, ledger.head)
        self._on_new_head(record, record.decoded(), sealed)

    def _on_sealed(self, executed: ExecutedBlock) -> None:
        self._filler.on_sealed(executed)
        header, ledger = executed.header, self._ledger
        self._next.clock.on_sealed(header.timestamp)
        ledger.settings = ledger.settings.after_block()
        if header.blob_gas_used:
            self._sidecars.add(header.number, executed.transactions)
        sealed = BlockSealed(
            header.number, ledger.head_hash, header, executed.failures, executed.console
        )
        self._on_new_head(executed.record, executed.transactions, sealed)

    def _on_new_head(
        self, record: BlockRecord, transactions: Iterable[Transaction], sealed: BlockSealed
    ) -> None:
        self._next.edits.restore(None)
        self._pool.blob_base_fee = self._next.blob_base_fee()
        self._pool.penalties.block = sealed.number
        self._pool.on_block(
            [transaction.hash for transaction in transactions],
            self._ledger.latest,
            self._next.base_fee(),
            touched=(change.address for change in record.changes),
        )
        self._events.publish(sealed)


class BlockBuilder:
    """Builds the next block of a chain from what is pending, and seals it."""

    def __init__(
        self,
        next_block: NextBlock,
        pool: Mempool,
        filler: BlockFiller,
        rejections: Rejections,
        appender: BlockAppender,
    ) -> None:
        self._next = next_block
        self._ledger = next_block.ledger
        self._edits = next_block.edits
        self._pool = pool
        self._filler = filler
        self._rejections = rejections
        self._appender = appender
        self._pending = PendingBlock(next_block, pool, filler)

    # The pending block

    def pending(self, *, budget: WorkBudget | None = None) -> BlockExecutor:
        """Return the pending block, executed, shared and not to be changed; raise `GasBudgetSpent` beyond a budget."""
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
        if self._pool.version == version and self.is_next(block):
            self._pending.adopt(block.executor, block.executed)

    # Sealing at once

    @property
    def is_heavy(self) -> bool:
        """Whether the next block takes more than a few milliseconds to execute, or to hash what was edited."""
        return self._edits.accounts > QUICK_EDITS or self._filler.is_heavy

    def seal_pending(self, *, budget: WorkBudget | None = None) -> None:
        """Seal blocks until no pending transaction can be included; raise `GasBudgetSpent` beyond a budget for all."""
        while self._filler.has_work:
            header = self.seal_work(budget=budget)
            if header is not None and not header.gas_used:
                return

    def seal_work(self, *, budget: WorkBudget | None = None) -> Header | None:
        """Seal the next block, unless it has rejected or left out all that it could have included."""
        block = self._fill(budget=budget)
        return None if is_vain(block) else self._seal(block)

    def seal(
        self, *, limit: int | None = None, budget: WorkBudget | None = None, leaves_out: bool = True
    ) -> Header:
        """Seal the next block, even if it is empty; raise `GasBudgetSpent` if it takes more work than a budget.

        Unless it `leaves_out` somebody for what a fork has not fetched yet: then raise `ColdFound` first.
        """
        return self._seal(self._fill(limit, budget, leaves_out=leaves_out))

    def _fill(
        self, limit: int | None = None, budget: WorkBudget | None = None, *, leaves_out: bool = True
    ) -> BlockExecutor:
        """Return the next block, and drop what it has rejected from the pool; a spent budget drops nothing."""
        self._appender.flush()
        block = self._filler.fill(
            self._next.timestamp(), *self._edits.stored(), limit=limit, budget=budget
        )
        self._leave_out(block, is_allowed=leaves_out)
        self._rejections.apply(block.rejected)
        return block

    def _leave_out(self, block: BlockExecutor, *, is_allowed: bool = True) -> None:
        """Leave out of the next blocks who is not in this one, until what they read is fetched."""
        if block.cold:
            self._filler.cold.add(block.cold)
            if not is_allowed:
                raise ColdFound

    def _seal(self, block: BlockExecutor) -> Header:
        ledger = self._ledger
        return self._appender.append(block.finish(ledger.trie), ledger.rules.fees.prices())

    # Sealing in parts, on any thread

    def open_block(self, *, budget: WorkBudget | None = None) -> OpenBlock:
        """Open the next block, to execute it on any thread, with `GasBudgetSpent` beyond a budget, and to seal it here."""
        self._appender.flush()
        filler, state = self._filler, self._next.build_state
        executor = filler.create(self._next.timestamp())
        prices = self._ledger.rules.fees.prices()
        executor.budget = budget
        parts = filler.first_priority(), filler.best_for(executor), self._ledger.trie, state
        roots = filler.roots.first
        import_roots = partial(include_roots, executor, filler.roots, roots) if roots else None
        if self._edits.accounts <= QUICK_EDITS:
            begin_block(executor, *self._edits.stored())
            return OpenBlock(executor, *parts, import_roots=import_roots, prices=prices)
        edited = self._edits.checkpoint()
        return OpenBlock(
            executor,
            *parts,
            begin=lambda: begin_block(executor, *stored_edits(edited)),
            import_roots=import_roots,
            prepare_write=self._ledger.prepare_write,
            prices=prices,
        )

    def is_next(self, block: OpenBlock) -> bool:
        """Return whether nothing has changed since the block was opened, so that it is still the next one."""
        return block.state == self._next.build_state and self._filler.has_all(block.transactions)

    def check_complete(self, block: OpenBlock) -> None:
        """Raise `ColdFound` if a finished block leaves somebody out."""
        self._leave_out(block.executor, is_allowed=False)

    def write_open(self, block: OpenBlock) -> BlockWrite | None:
        """Write a finished block, to `show` it once it is durable; None if it is not the next."""
        assert block.executed is not None
        self._appender.flush()
        if not self.is_next(block):
            return None
        self.reject(block)
        return self._appender.write(block.executed, block.prices)

    def show(self, write: BlockWrite) -> Header:
        """Make a block that was written the head; raise what prevented that it is durable."""
        return self._appender.show(write)

    def reject(self, block: OpenBlock) -> None:
        """Drop what a block has rejected from the pool, and leave out who lacks a value."""
        self._leave_out(block.executor)
        self._rejections.apply(block.executor.rejected)
