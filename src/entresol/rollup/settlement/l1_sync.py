"""Track how far L1 has committed, proven and executed our batches."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from entresol.counted import batches
from entresol.errors import LayerOneMismatch, StoreDamaged
from entresol.l1.contracts import BATCH_COMMITTED, BATCH_EXECUTED, BATCHES_VERIFIED, BatchTotals
from entresol.l1.layer_one import MAX_REORG_DEPTH, agreed, existing_block
from entresol.primitives.batches import Batch, SettlementStep, SettlementTransaction
from entresol.primitives.values import Hash32
from entresol.rollup.batches import stored_info_of
from entresol.rollup.settlement.pending_tx import PendingSettlements, SettlementOperation

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.chain.journal import Journal
    from entresol.l1.contracts import ZkChain
    from entresol.l1.layer_one import L1Block, L1Finality, L1Log, L1Receipt

log = logging.getLogger(__name__)

_NO_BATCHES: Final = BatchTotals(0, 0, 0)
_VERIFIED_TOPICS: Final = 3
"""The event, the last batch before those that are verified, and the last of them."""


class L1Sync:
    """Compares the chain's batches with L1's, and sets the chain's finality accordingly.

    One URL often stands for several nodes, and L1 may reorg between two requests, so the totals and whatever a
    transaction is signed with are read at one block, by its hash: then a transaction has the nonce that follows those
    which led to the totals, and no step can be sent with two nonces. Persists: which transaction did each step, also
    if another account sent it or a reorg moved or removed it. Fails: with `LayerOneMismatch` if L1 has batches that
    the chain does not have, or different ones.
    """

    def __init__(
        self,
        chain: Chain,
        contract: ZkChain,
        confirmations: int,
        finality: L1Finality = "latest",
        *,
        journal: Journal,
    ) -> None:
        self._chain = chain
        self._batches = chain.batches
        self._journal = PendingSettlements(chain.batches, journal)
        self._l1 = contract.l1
        self._contract = contract
        self._confirmations = confirmations
        self._finality: L1Finality = finality
        self._compared: tuple[int, Hash32, int] | None = None
        self._last_block: L1Block | None = None
        self.totals = _NO_BATCHES
        """L1's totals after `head`."""
        self.head: L1Block | None = None
        """L1's last block when it was read last."""

    @property
    def sealed(self) -> int:
        """The number of the last sealed batch."""
        last = self._batches.last()
        return 0 if last is None else last.number

    def batch(self, number: int) -> Batch:
        """Return a batch; raises `StoreDamaged` if it is missing."""
        found = self._batches.get(number)
        if found is None:
            raise StoreDamaged(self._chain.blocks.path, f"batch {number} is missing")
        return found

    def data(self, batch: Batch) -> bytes:
        """Return what a batch publishes; raises `StoreDamaged` if it is missing."""
        found = self._batches.data(batch.number)
        if len(found) != batch.data_size:
            problem = f"what batch {batch.number} publishes is missing"
            raise StoreDamaged(self._chain.blocks.path, problem)
        return found

    def last_recorded(self, step: SettlementStep) -> int:
        """Return the last batch that L1 has with this step, without those of the pending transaction."""
        pending = self._journal.pending(step)
        last = self.totals.last(step)
        return last if pending is None else min(last, pending.first - 1)

    def is_recorded(self, step: SettlementStep, number: int) -> bool:
        """Return whether the transaction of a step is recorded; batch 0 needs none."""
        return number == 0 or self._batches.settled(number, step) is not None

    async def refresh(self) -> BatchTotals:
        """Read L1's totals, check that they count this chain's batches, and record what is new."""
        try:
            head = await self._read_totals()
        except LayerOneMismatch:
            # While anvil mines it responds with the new state for the last block, and a moment later with the old.
            head = await self._read_totals()
        totals = self.totals
        for step in SettlementStep:
            await self._record(step, totals.last(step))
        if await self._may_have_reorged():
            # L1 may have made many blocks since it replaced the one that is known.
            known, self._last_block = self._last_block, None
            last = head.number if known is None else min(head.number, known.number)
            for step in SettlementStep:
                await self._recheck(step, totals.last(step), last - MAX_REORG_DEPTH)
        last = (
            head.number
            if self._finality == "latest"
            else min(await self._l1.block_number(self._finality), head.number)
        )
        await self._update_finality(totals, head, last - self._confirmations)
        return totals

    async def settlement_of(self, receipt: L1Receipt) -> SettlementTransaction:
        """Return the transaction of a receipt with its block; raises if a reorg removed the block.

        Both are read again, since what is recorded of them stays.
        """
        number = receipt.block_number
        block = await agreed(self._l1, f"block {number}", lambda: self._l1.block(number))
        if block is None or block.hash != receipt.block_hash:
            raise LayerOneMismatch(f"a reorg removed block {number} of {self._l1.name}")
        if await self._l1.receipt(receipt.transaction_hash) != receipt:
            raise LayerOneMismatch(
                f"{self._l1.name} gives two receipts of {receipt.transaction_hash}"
            )
        found = SettlementTransaction(
            receipt.transaction_hash, block.number, block.timestamp, receipt.gas_used
        )
        if self._last_block is not None and self._last_block.number == block.number:
            # One of two responses that differ is wrong: the next refresh reads both again.
            self._last_block = None if self._last_block != block else block
            return found
        # A block that a reorg removed stays, so that the next refresh notices.
        if self._last_block is None or (
            self._last_block.number < block.number and not await self._may_have_reorged()
        ):
            self._last_block = block
        return found

    async def _read_totals(self) -> L1Block:
        """Read L1's totals at its head, and return that; raises if they do not count this chain's batches."""
        head = await self._l1.head()
        totals = await self._contract.totals(head.hash)
        if self._is_behind(totals):
            # One wrong response would take back what is recorded, and what is final.
            what = "its batches"
            totals = await agreed(self._l1, what, lambda: self._contract.totals(head.hash))
        if totals.committed > self.sealed:
            raise LayerOneMismatch(
                f"{self._l1.name} has {batches(totals.committed)}, and this chain {self.sealed}: the "
                "chain was reverted, or it is another chain's L1"
            )
        await self._compare_last(totals, head.hash)
        # Not before: nothing is signed or recorded by what contradicts this chain.
        self.head, self.totals = head, totals
        return head

    def _is_behind(self, totals: BatchTotals) -> bool:
        """Return whether L1 has fewer batches with a step than are recorded."""
        last = self._batches.last_settled
        return totals != self.totals and any(
            totals.last(step) < last(step) for step in SettlementStep
        )

    async def _compare_last(self, totals: BatchTotals, block: Hash32) -> None:
        """Compare the last batch that L1 has; its hash covers those before it."""
        batch = self.batch(totals.committed)
        expected = stored_info_of(batch, self._chain.rules.chain_id).hash()
        compared = batch.number, expected, totals.executed
        if self._compared == compared:
            return
        if await self._contract.stored_batch_hash(batch.number, block) != expected:
            raise LayerOneMismatch(f"batch {batch.number} on {self._l1.name} is not this chain's")
        executed = self.batch(totals.executed)
        root = await self._contract.message_root(executed.number, block)
        if executed.number and root != executed.message_root:
            raise LayerOneMismatch(
                f"the messages of batch {executed.number} on {self._l1.name} are not this chain's"
            )
        self._compared = compared

    async def _record(self, step: SettlementStep, last: int) -> None:
        """Record a step for the batches up to `last`, and for none above."""
        above = last
        while self._batches.settled(above + 1, step) is not None:
            above += 1
        if above > last:
            undone = SettlementOperation(step, last + 1, above)
            log.log(self._l1.reorg_level, "a reorg of %s reverted the %s", self._l1.name, undone)
            await self._journal.revert(undone.batches, step)
        last = recorded = self.last_recorded(step)
        while not self.is_recorded(step, recorded):
            recorded -= 1
        for number in range(recorded + 1, last + 1):
            found = await self._find_by_event(step, number)
            await self._journal.update(number, step, found)

    async def _may_have_reorged(self) -> bool:
        """Return whether a settlement transaction may be in another block than recorded, as after a start."""
        last = self._last_block
        return last is None or await self._l1.block(last.number) != last

    async def _recheck(self, step: SettlementStep, last: int, oldest: int) -> None:
        """Update the transactions of a step since L1 block `oldest`: a reorg may have moved them."""
        for number in range(last, 0, -1):
            recorded = self._batches.settled(number, step)
            if recorded is None:
                # The pending transaction does it, and is recorded with its receipt.
                continue
            if recorded.block < oldest:
                return
            found = await self._find(step, number, recorded)
            if not found.is_at_place_of(recorded):
                moved = SettlementOperation(step, number, number)
                log.log(self._l1.reorg_level, "a reorg of %s moved the %s", self._l1.name, moved)
            if found != recorded:
                # Or its gas was not recorded, as by who derived the chain.
                await self._journal.update(number, step, found)

    async def _find(
        self, step: SettlementStep, number: int, recorded: SettlementTransaction
    ) -> SettlementTransaction:
        receipt = await self._l1.receipt(recorded.transaction)
        if receipt is not None and receipt.succeeded:
            return await self.settlement_of(receipt)
        return await self._find_by_event(step, number)

    async def _find_by_event(self, step: SettlementStep, number: int) -> SettlementTransaction:
        """Return the transaction that did a step, by the event it emitted."""
        before = self._batches.settled(number - 1, step)
        # Batches are settled in order, and a reorg may have moved what is recorded.
        near = 0 if before is None else before.block - MAX_REORG_DEPTH
        found = await self._events(step, number, max(near, self._contract.first_block))
        if not found and near > self._contract.first_block:
            found = await self._events(step, number, self._contract.first_block)
        if not found:
            raise LayerOneMismatch(
                f"{self._l1.name} has batch {number}, but no {step.name.lower()} of it"
            )
        # The last one counts: batches may have been reverted and settled again.
        return await self.settlement_by(found[-1])

    async def settlement_by(self, event: L1Log) -> SettlementTransaction:
        """Return the transaction that emitted an event; raises if L1 has it in another block, or not at all."""
        receipt = await self._l1.receipt(event.transaction_hash)
        if receipt is None or receipt.block_hash != event.block_hash:
            raise LayerOneMismatch(
                f"{self._l1.name} has an event of {event.transaction_hash} in block {event.block_number}, but not the "
                "transaction"
            )
        return await self.settlement_of(receipt)

    async def _events(self, step: SettlementStep, number: int, first: int) -> list[L1Log]:
        """Return the events of a step of a batch, from L1 block `first` on."""
        what = f"the {step.name.lower()} of batch {number}"
        return await agreed(self._l1, what, lambda: self._read_events(step, number, first))

    async def _read_events(self, step: SettlementStep, number: int, first: int) -> list[L1Log]:
        # A search up to a block that L1 does not have would not end.
        last = (await existing_block(self._l1, (await self._l1.head()).number)).number
        word = Hash32(number.to_bytes(32))
        if step is SettlementStep.PROVE:
            found = await self._l1.logs(self._contract.address, [BATCHES_VERIFIED], first, last)
            if any(len(log.topics) != _VERIFIED_TOPICS for log in found):
                raise LayerOneMismatch(f"{self._l1.name} has a verification without its batches")
            return [log for log in found if log.topics[1] < word <= log.topics[2]]
        topic = BATCH_COMMITTED if step is SettlementStep.COMMIT else BATCH_EXECUTED
        return await self._l1.logs(self._contract.address, [topic, word], first, last)

    async def _update_finality(self, totals: BatchTotals, head: L1Block, confirmed: int) -> None:
        """Set the chain's `safe` and `finalized` blocks, as of the L1 block `confirmed`; raises if L1 has no such head."""
        safe = self._last_settled_block(SettlementStep.COMMIT, totals.committed, confirmed)
        final = self._last_settled_block(SettlementStep.EXECUTE, totals.executed, confirmed)
        if (safe, final) != (self._chain.finality.safe, self._chain.finality.finalized):
            if await self._l1.block(head.number) != head:
                raise LayerOneMismatch(f"{self._l1.name} has another block {head.number} now")
            await self._journal.confirm(safe, final)

    def _last_settled_block(self, step: SettlementStep, number: int, confirmed: int) -> int:
        """Return the last block of the last batch whose step is in an L1 block up to `confirmed`."""
        while number:
            transaction = self._batches.settled(number, step)
            if transaction is not None and transaction.block <= confirmed:
                break
            number -= 1
        return self.batch(number).last_block
