"""Execute published batches, and compare them with what L1 says of them."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from entresol.errors import BatchOverflow, InvalidTransaction, ReplayMismatch, StoreDamaged
from entresol.features.derive.derived_block import (
    BlockParts,
    InForce,
    check_codes,
    derive_block,
    read_edits,
)
from entresol.features.derive.errors import DerivationAlarm, SnapshotRejected, UnderivableBlock
from entresol.features.derive.snapshot import applied
from entresol.primitives.published.edits import EditsByHash, PublishedEdits
from entresol.primitives.transactions import decode_published
from entresol.rollup.batches import OpenBatch, frontier_after, seal_genesis

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from entresol.chain.chain import Chain
    from entresol.features.derive.derived_block import EditSource
    from entresol.features.derive.l1_events import BatchClaim
    from entresol.features.derive.snapshot import BatchSnapshot
    from entresol.primitives.batches import Batch
    from entresol.primitives.published.body import PublishedBatch, PublishedBlock
    from entresol.primitives.records import BlockRecord
    from entresol.primitives.transactions import PriorityTransaction, Transaction
    from entresol.rollup.batches import SealedBatch
    from entresol.rollup.priority_tree import Frontier


class BatchDeriver:
    """Executes published batches on a chain, one after the other.

    Remembers: L1's priority tree after the last batch. Persists: blocks with their prices and rules, through the chain,
    not synced: the write of their batch, which is the caller's, makes them durable. Assumes: the thread of the chain,
    whose head is the last block of its last batch. Fails: with `DerivationAlarm`, which leaves the chain as it was.
    """

    def __init__(self, chain: Chain, edits: EditSource | None = None) -> None:
        """Derive on a chain; `edits` has those that are too large for L1."""
        self._chain = chain
        self._store = chain.ledger.store
        self._edits = edits
        self._tree: tuple[Batch, Frontier] | None = None

    def derive(
        self,
        claim: BatchClaim,
        deposits: Callable[[int, int], Sequence[PriorityTransaction]],
        before: Callable[[int], None] = lambda _block: None,
    ) -> SealedBatch:
        """Append the blocks of a batch to the chain, and return the batch as the operator has sealed it.

        `deposits(first_id, count)` returns consecutive deposits of L1, fewer if it has not more. `before` is called
        with the number of each block; what it raises ends the batch, and leaves the chain as it was.
        """
        last = self._last()
        claim.check("number", claim.number, last.number + 1)
        batch = claim.read()
        self._check_parent(claim, batch)
        frontier = self._frontier_after(last)
        found = self._deposits(claim, batch, frontier.count, deposits)
        try:
            sealed = self._execute(claim, batch, found, frontier, before)
            claim.check("block_hash", batch.last_hash, self._chain.ledger.head_hash)
            claim.check_sealed(sealed.batch, self._chain.rules.chain_id)
        except BaseException:
            self.unwind(last.last_block)
            raise
        return sealed

    def accept(
        self,
        claim: BatchClaim,
        snapshot: BatchSnapshot,
        before: Callable[[int], None] = lambda _block: None,
    ) -> SealedBatch:
        """Append the blocks of a batch as a snapshot has them, not executed, and return the batch.

        Raises `SnapshotRejected` if that is not the batch that L1 has; this leaves the chain as it was.
        """
        last = self._last()
        frontier = self._frontier_after(last)
        hashed_from = last.hashed_from or snapshot.hashed_from(claim.number)
        opened = OpenBatch(
            claim.number, last.last_block + 1, frontier, _ClaimedData(claim.data, hashed_from)
        )
        try:
            claim.check("first_block", claim.first_block, last.last_block + 1)
            for block in snapshot.blocks(claim.first_block, claim.last_block):
                before(self._chain.number + 1)
                self._store.rules.current = block.rules
                executed = applied(block.record, self._chain.ledger)
                self._chain.append(executed, block.prices, sync=False)
                opened.add(block.record, 0.0)
            sealed = opened.seal()
            claim.check_sealed(sealed.batch, self._chain.rules.chain_id)
        except BaseException as error:
            self.unwind(last.last_block)
            if isinstance(error, (DerivationAlarm, ReplayMismatch, BatchOverflow)):
                raise SnapshotRejected(claim.number, snapshot.name, str(error)) from error
            raise
        self._tree = sealed.batch, frontier.extend(opened.priority)
        return sealed

    def unwind(self, block: int) -> None:
        """Revert the chain to a block; nothing of what this removes is pending afterwards, since L1 has it."""
        chain = self._chain
        chain.flush()
        mark = msgspec.structs.replace(
            chain.history.mark(), number=block, finality=chain.finality.at_most(block)
        )
        chain.history.unwind(mark, None, chain.ledger.reverted_by(block))
        self._store.rules.current = self._rules_at(block).published

    def _last(self) -> Batch:
        last = self._chain.batches.last() or seal_genesis(self._chain)
        assert self._chain.number == last.last_block, "unwind to the last batch first"
        return last

    def _check_parent(self, claim: BatchClaim, batch: PublishedBatch) -> None:
        """Check that a batch follows the last block."""
        head = self._chain.number
        claim.check("first_block", claim.first_block, head + 1)
        claim.check("parent_hash", batch.header.parent_hash, self._chain.ledger.head_hash)
        rules = self._rules_at(head).published
        claim.check("rules_hash", batch.header.rules_hash, rules.hash())

    def _rules_at(self, block: int) -> InForce:
        rules = self._store.rules.at(block)
        if rules is None:
            raise StoreDamaged(self._store.path, f"the rules of block {block} are missing")
        return InForce.of(self._chain.rules, rules)

    def _frontier_after(self, last: Batch) -> Frontier:
        if self._tree is None or self._tree[0] != last:
            self._tree = last, frontier_after(self._chain.blocks, last)
        return self._tree[1]

    def _deposits(
        self,
        claim: BatchClaim,
        batch: PublishedBatch,
        first: int,
        deposits: Callable[[int, int], Sequence[PriorityTransaction]],
    ) -> Sequence[PriorityTransaction]:
        """Return the deposits of a batch, which have consecutive ids."""
        count = sum(block.deposits for block in batch.blocks)
        if not count:
            return ()
        found = deposits(first, count)
        if len(found) != count:
            has = f"{len(found)} with ids from {first}"
            raise DerivationAlarm(claim.number, "deposits", has, f"{count} in its blocks")
        for number, payload in enumerate(found, start=first):
            claim.check("deposits", payload.nonce, number)
            try:
                payload.check_request()
            except InvalidTransaction as error:
                raise claim.underivable("deposits", str(error)) from error
        return found

    def _execute(
        self,
        claim: BatchClaim,
        batch: PublishedBatch,
        deposits: Sequence[PriorityTransaction],
        frontier: Frontier,
        before: Callable[[int], None],
    ) -> SealedBatch:
        """Append the blocks of a batch, and return the batch."""
        data = _ClaimedData(claim.data, self._last().hashed_from or _first_hashed(batch))
        opened = OpenBatch(claim.number, claim.first_block, frontier, data)
        in_force = self._rules_at(claim.first_block - 1)
        raws = [raw for block in batch.blocks for raw in block.transactions]
        # Those of all blocks at once, on all cores.
        transactions, from_l1 = iter(decode_published(raws)), iter(deposits)
        for number, block in enumerate(batch.blocks, start=claim.first_block):
            before(number)
            try:
                in_force = in_force.after(block)
                opened.add(self._append(claim, number, block, in_force, transactions, from_l1), 0.0)
            except UnderivableBlock as error:
                raise claim.underivable(f"block {number}, {error.field}", error.problem) from error
        try:
            sealed = opened.seal()
        except BatchOverflow as error:
            raise claim.underivable("messages", str(error)) from error
        self._tree = sealed.batch, frontier.extend(opened.priority)
        return sealed

    def _append(
        self,
        claim: BatchClaim,
        number: int,
        block: PublishedBlock,
        in_force: InForce,
        transactions: Iterator[Transaction | InvalidTransaction],
        deposits: Iterator[PriorityTransaction],
    ) -> BlockRecord:
        """Execute a block and make it the head."""
        ledger = self._chain.ledger
        parts = BlockParts(
            in_force=in_force,
            edits=self._edits_of(claim, number, block),
            deposits=tuple(islice(deposits, block.deposits)),
            transactions=tuple(islice(transactions, len(block.transactions))),
        )
        executed = derive_block(
            block, parts, ledger.head, ledger.head_hash, snapshot=ledger.latest, trie=ledger.trie
        )
        self._store.rules.current = in_force.published
        self._chain.append(executed, in_force.prices, sync=False)
        return executed.record

    def _edits_of(
        self, claim: BatchClaim, number: int, block: PublishedBlock
    ) -> PublishedEdits | None:
        edits = block.edits
        if isinstance(edits, EditsByHash):
            found = None if self._edits is None else self._edits.edits(number, edits)
            if found is None:
                raise DerivationAlarm(
                    claim.number,
                    f"edits of block {number}",
                    f"only the hash 0x{edits.hash.hex()} of their {edits.size} bytes",
                    f"nobody to give them: from block {number} on L1 is not enough",
                )
            edits = read_edits(edits, found)
        if edits is not None:
            check_codes(edits, self._store)
        return edits


class _ClaimedData:
    """The data of a batch as L1 has it, which is not compressed again."""

    def __init__(self, data: bytes, hashed_from: int) -> None:
        self._data = data
        self.hashed_from = hashed_from

    def has_room_for(self, record: BlockRecord) -> bool:  # noqa: ARG002 - part of the interface
        return True

    def add(self, record: BlockRecord) -> None:
        pass

    def finish(self) -> bytes:
        return self._data


def _first_hashed(batch: PublishedBatch) -> int:
    """Return the first block of a batch whose edits are published by hash; 0 if there is none."""
    numbered = enumerate(batch.blocks, start=batch.header.first_block)
    return next((number for number, block in numbered if isinstance(block.edits, EditsByHash)), 0)
