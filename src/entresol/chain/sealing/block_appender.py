"""Make a block the head of a chain: seal it at once, in two steps, or import it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from entresol.chain.events import BlockSealed, ChainEvents
from entresol.chain.sealing.block_write import BlockWrite

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol.chain.mempool import Mempool
    from entresol.chain.mempool.sidecars import BlobSidecars
    from entresol.chain.sealing.block_producer import BlockProducer
    from entresol.chain.sealing.next_block import NextBlock
    from entresol.execution.block_executor import ExecutedBlock
    from entresol.primitives.headers import Header
    from entresol.primitives.records import BlockRecord
    from entresol.primitives.transactions import Transaction
    from entresol.storage.price_table import Prices


class BlockAppender:
    """Appends blocks, with all that follows from a new head: what was pending, edited or set for it is gone.

    Remembers: the block that is being written. Persists: blocks, through the ledger. Assumes: the thread of the chain.
    Fails: an error leaves the chain unchanged.
    """

    def __init__(
        self,
        next_block: NextBlock,
        pool: Mempool,
        producer: BlockProducer,
        sidecars: BlobSidecars,
        events: ChainEvents,
    ) -> None:
        self._next = next_block
        self._ledger = next_block.ledger
        self._pool = pool
        self._producer = producer
        self._sidecars = sidecars
        self._events = events
        self._writing: BlockWrite | None = None

    def append(self, executed: ExecutedBlock, prices: Prices | None) -> Header:
        """Seal an executed block, which must be the next one."""
        self.flush()
        self._ledger.append(executed, prices)
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
        self._producer.on_sealed(executed)
        header, ledger = executed.header, self._ledger
        self._next.clock.on_sealed(header.timestamp)
        ledger.settings = ledger.settings.after_block()
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
