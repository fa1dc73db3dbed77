"""One chain: its sealed blocks, its mempool and its events."""

from __future__ import annotations

import secrets
from functools import partial
from typing import TYPE_CHECKING

from entresol.chain.accepting_chain import AcceptingChain
from entresol.chain.block_settings import BlockSettings
from entresol.chain.chain_mark import ChainMark
from entresol.chain.events import BlockSealed, BlocksReverted
from entresol.chain.finality import Finality
from entresol.execution.state_edits import apply_changes
from entresol.primitives.transactions import PriorityTransaction, with_sidecar
from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from entresol.chain.ledger import RevertedBlocks
    from entresol.chain.mempool import Mempool
    from entresol.primitives.records import StoredChange
    from entresol.storage.store import Store


class Chain(AcceptingChain):
    """A chain of either layer, which its rules define, and which can be reverted.

    Remembers: what `AcceptingChain` does. Persists: sealed blocks, through the ledger. Assumes: one
    thread writes; any thread may read sealed blocks. Fails: an error leaves the chain unchanged.
    """

    def mark(self, *, with_batches: bool = False) -> ChainMark:
        """Return what the chain is now, to `unwind` it to this; `with_batches` takes batches back, too."""
        self.flush()
        return ChainMark(
            number=self.ledger.head.number,
            clock=self.clock.state,
            settings=self.ledger.settings,
            finality=self.finality,
            base_fee=self.pool.base_fee,
            edited=self._edits.checkpoint(),
            priority=tuple(self.producer.priority),
            pool=self.pool.checkpoint(),
            batches=self.batches.mark() if with_batches else None,
        )

    def unwind(self, mark: ChainMark, pool: Mempool | None, reverted: RevertedBlocks) -> None:
        """Revert to a mark, and the pool to one that was made for it; None empties it.

        `reverted` are the blocks that this removes.
        """
        self.flush()
        head, batch = self.number, self.batches.last()
        self.ledger.unwind(mark.number)
        self.sidecars.drop_above(mark.number)
        self._edits.restore(mark.edited)
        if pool is None:
            self.pool.clear(self.latest)
        else:
            self.pool.adopt(pool)
        if mark.pool is not None:
            self.pool.restore_penalties(mark.pool, mark.number)
        self.producer.priority.replace(mark.priority)
        self.clock.state = mark.clock
        self.configure(mark.settings)
        self.finality = mark.finality
        if mark.batches is not None:
            self.batches.revert_to(mark.batches)
        # Clients see the batch of a block, too.
        if head != mark.number or batch != self.batches.last():
            self.events.publish(BlocksReverted(reverted.records, mark.number, reverted.size))

    def rewind(self, number: int) -> None:
        """Revert to block `number`; the transactions of the reverted blocks are pending again."""
        self.flush()
        reverted = self.ledger.reverted_by(number)
        self.ledger.unwind(number)
        self._edits.restore(None)
        self.finality = self.finality.at_most(number)
        transactions = [it for record in reversed(reverted.records) for it in record.decoded()]
        from_l1 = [it for it in transactions if isinstance(it.payload, PriorityTransaction)]
        self.producer.priority.push_front(from_l1)
        others = [
            with_sidecar(it, self.sidecars.get(it.hash))
            for it in transactions
            if not isinstance(it.payload, PriorityTransaction)
        ]
        self.sidecars.drop_above(number)
        self.pool.blob_base_fee = self.next_blob_base_fee()
        self.pool.reset(self.ledger.latest, self.next_base_fee(), reverted=others)
        self.events.publish(BlocksReverted(reverted.records, self.number, reverted.size))

    def drop_pending(self) -> None:
        """Drop every transaction that is in no block."""
        self.producer.priority.replace(())
        self.pool.clear(self.latest)

    def exchange(
        self,
        source: Store,
        reverted: RevertedBlocks | None = None,
        edits: Sequence[StoredChange] = (),
        codes: Iterable[bytes] = (),
    ) -> bool:
        """Replace all blocks by those of another store, and the edits; nothing is pending then.

        `reverted` are the blocks so far, if they were read already. Return whether `source` has the blocks so far now.
        """
        self.flush()
        if reverted is None or reverted.head != self.ledger.head_hash:
            reverted = self.ledger.reverted_by(-1)
        is_exchanged = self.ledger.replace(source)
        self._edits.restore(None)
        if edits:
            change = partial(apply_changes, changes=edits, codes=codes)
            self._edits.apply(self.ledger.latest, change, len(edits))
        self.sidecars.drop_above(-1)
        self.finality = Finality()
        self.instance_id = Hash32(secrets.token_bytes(Hash32.size))
        self.configure(BlockSettings())
        self.producer.priority.replace(())
        self.pool.reset(self.latest, self.next_base_fee())
        self.clock.state = self.clock.at(max(self.head.timestamp, self.clock.now()))
        self.events.publish(BlocksReverted(reverted.records, -1, reverted.size))
        self.events.publish(BlockSealed(self.number, self.ledger.head_hash, self.head, {}))
        return is_exchanged
