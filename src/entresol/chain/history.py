"""Remove or replace blocks of a chain, with all that follows from them."""

from __future__ import annotations

import secrets
from functools import partial
from typing import TYPE_CHECKING, Protocol

import msgspec

from entresol.chain.clock import ClockState
from entresol.chain.edits import BlockSettings
from entresol.chain.events import BlockSealed, BlocksReverted
from entresol.chain.finality import Finality
from entresol.chain.mempool import PoolCheckpoint
from entresol.errors import StateMissing
from entresol.execution.evm_env import apply_changes
from entresol.primitives.transactions import (
    PriorityTransaction,
    SystemTransaction,
    Transaction,
    load,
    marked,
    recover_many,
    with_sidecar,
)
from entresol.primitives.transactions.zk import ZK_TYPE
from entresol.primitives.values import Address, Hash32
from entresol.storage.batch_table import BatchMark

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from entresol._native import Overlay
    from entresol.chain.events import ChainEvents
    from entresol.chain.ledger import RevertedBlocks
    from entresol.chain.mempool import Mempool
    from entresol.chain.mempool.sidecars import BlobSidecars
    from entresol.chain.sealing.block_filler import BlockFiller, NextBlock
    from entresol.primitives.records import BlockRecord, StoredChange
    from entresol.storage.store import Store


class ChainMark(msgspec.Struct, frozen=True, kw_only=True):
    """The state that `History.unwind` leaves: the last block, the build state of the next one, and what is pending."""

    number: int
    clock: ClockState
    settings: BlockSettings
    finality: Finality
    base_fee: int
    """The base fee of the next block, by which the pool is ordered."""
    edited: Overlay | None = None
    priority: tuple[Transaction, ...] = ()
    pool: PoolCheckpoint | None = None
    """None if the penalties of the pool stay as they are."""
    batches: BatchMark | None = None
    """None if they stay: there is no L1 that is reverted, too."""


class RevertibleChain(Protocol):
    """The parts of a chain that a history changes."""

    next_block: NextBlock
    pool: Mempool
    filler: BlockFiller
    sidecars: BlobSidecars
    events: ChainEvents
    finality: Finality
    instance_id: Hash32

    def flush(self) -> None:
        """Make the block that is being written the head."""

    def configure(self, settings: BlockSettings) -> None:
        """Set what developers want of blocks to come."""


class History:
    """Reverts a chain to what it was, or replaces its blocks: pool, edits, clock, settings and batches go along."""

    def __init__(self, chain: RevertibleChain) -> None:
        self._chain = chain
        self._next = chain.next_block
        self._ledger = chain.next_block.ledger
        self._batches = self._ledger.store.batches

    def mark(self, *, with_batches: bool = False) -> ChainMark:
        """Return what the chain is now, to `unwind` it to this; `with_batches` takes batches back, too."""
        chain = self._chain
        chain.flush()
        return ChainMark(
            number=self._ledger.head.number,
            clock=self._next.clock.state,
            settings=self._ledger.settings,
            finality=chain.finality,
            base_fee=chain.pool.base_fee,
            edited=self._next.edits.checkpoint(),
            priority=tuple(chain.filler.priority),
            pool=chain.pool.checkpoint(),
            batches=self._batches.mark() if with_batches else None,
        )

    def unwind(self, mark: ChainMark, pool: Mempool | None, reverted: RevertedBlocks) -> None:
        """Revert to a mark by removing `reverted`, and the pool to one that was made for it; None empties it."""
        chain, batches = self._chain, self._batches
        chain.flush()
        head, batch = self._ledger.head.number, batches.last()
        self._ledger.unwind(mark.number)
        chain.sidecars.drop_above(mark.number)
        self._next.edits.restore(mark.edited)
        if pool is None:
            chain.pool.clear(self._next.latest)
        else:
            chain.pool.adopt(pool)
        if mark.pool is not None:
            chain.pool.restore_penalties(mark.pool, mark.number)
        chain.filler.priority.replace(mark.priority)
        # The importer queues again what the state lacks, here and below.
        chain.filler.roots.replace()
        self._next.clock.state = mark.clock
        chain.configure(mark.settings)
        chain.finality = mark.finality
        if mark.batches is not None:
            batches.revert_to(mark.batches)
        # Clients see the batch of a block, too.
        if head != mark.number or batch != batches.last():
            chain.events.publish(BlocksReverted(reverted.records, mark.number, reverted.size))

    def rewind(self, number: int) -> None:
        """Revert to block `number`; the transactions of the reverted blocks are pending again."""
        chain, ledger = self._chain, self._ledger
        chain.flush()
        reverted = ledger.reverted_by(number)
        ledger.unwind(number)
        self._next.edits.restore(None)
        chain.finality = chain.finality.at_most(number)
        transactions = _pending_again(reverted.records)
        from_l1 = [
            transaction
            for transaction in transactions
            if isinstance(transaction.payload, PriorityTransaction)
        ]
        chain.filler.priority.push_front(from_l1)
        chain.filler.roots.replace()
        others = [
            with_sidecar(transaction, chain.sidecars.get(transaction.hash))
            for transaction in transactions
            if not isinstance(transaction.payload, PriorityTransaction | SystemTransaction)
        ]
        chain.sidecars.drop_above(number)
        chain.pool.blob_base_fee = self._next.blob_base_fee()
        chain.pool.reset(ledger.latest, self._next.base_fee(), reverted=others)
        chain.events.publish(BlocksReverted(reverted.records, ledger.head.number, reverted.size))

    def exchange(
        self,
        source: Store,
        reverted: RevertedBlocks | None = None,
        edits: Sequence[StoredChange] = (),
        codes: Iterable[bytes] = (),
    ) -> bool:
        """Replace all blocks by those of another store, and the edits; deposits that were pending are dropped.

        `reverted` are the blocks so far, if they were read already. Return whether `source` has the blocks so far now.
        """
        chain, ledger, clock = self._chain, self._ledger, self._next.clock
        chain.flush()
        if reverted is None or reverted.head != ledger.head_hash:
            reverted = ledger.reverted_by(-1)
        is_exchanged = ledger.replace(source)
        self._next.edits.restore(None)
        if edits:
            change = partial(apply_changes, changes=edits, codes=codes)
            self._next.edits.apply(ledger.latest, change, len(edits))
        chain.sidecars.drop_above(-1)
        chain.finality = Finality()
        chain.instance_id = Hash32(secrets.token_bytes(Hash32.size))
        chain.configure(BlockSettings())
        chain.filler.priority.replace(())
        chain.filler.roots.replace()
        try:
            chain.pool.reset(self._next.latest, self._next.base_fee())
        except StateMissing:
            # A fork does not know the senders of the pool here, and the blocks are replaced already.
            chain.pool.clear(self._next.latest)
        clock.state = clock.at(max(ledger.head.timestamp, clock.now()))
        head = ledger.head
        chain.events.publish(BlocksReverted(reverted.records, -1, reverted.size))
        chain.events.publish(BlockSealed(head.number, ledger.head_hash, head, {}))
        return is_exchanged


def _pending_again(records: Sequence[BlockRecord]) -> list[Transaction]:
    """Return the transactions of reverted blocks, which are newest first, for the queue and the pool.

    The signature of type 0x71 is checked again, since another may judge it now. One that a state file has brought
    without a signature gets the mark of its sender, which others can execute.
    """
    stored = [transaction for record in reversed(records) for transaction in record.transactions]
    found = iter(recover_many([(raw, sender) for raw, sender in stored if raw[0] == ZK_TYPE]))
    transactions = [
        next(found) if raw[0] == ZK_TYPE else load(raw, Address(sender)) for raw, sender in stored
    ]
    return [
        marked(transaction) for transaction in transactions if isinstance(transaction, Transaction)
    ]
