"""How the batches of the chain and those on L1 stand to each other."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.errors import LayerOneMismatch, StoreDamaged
from entresol.l1.contracts import BATCH_COMMITTED, BATCH_EXECUTED, BATCHES_VERIFIED, BatchTotals
from entresol.primitives.batches import Batch, SettlementStep, SettlementTransaction
from entresol.primitives.values import Hash32
from entresol.rollup.batches import stored_info_of
from entresol.rollup.pending_tx import PendingSettlement, named

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.l1.contracts import ZkChain
    from entresol.l1.layer_one import L1Block, L1Receipt

log = logging.getLogger(__name__)

_NOTHING: Final = BatchTotals(0, 0, 0)
# How many blocks an L1 may replace at once without any of the batches in them being overlooked.
_DEEPEST: Final = 64


class L1Sync:
    """Compares the chain's batches with L1's, and tells the chain how far it is confirmed.

    Remembers: the totals and the batches that were compared last, and the last L1 block with a step.
    Persists: by which transaction a step was done, where only L1 knew; that a step is undone if L1
    went back, and where it is now if L1 has it in another block. Fails: with `LayerOneMismatch` if L1
    has batches that the chain does not have, or has others.
    """

    def __init__(self, chain: Chain, contract: ZkChain, confirmations: int) -> None:
        self._chain = chain
        self._batches = chain.batches
        self._l1 = contract.l1
        self._contract = contract
        self._confirmations = confirmations
        self._compared: tuple[int, Hash32] | None = None
        self._newest: L1Block | None = None
        self.totals = _NOTHING

    @property
    def sealed(self) -> int:
        """The number of the batch that was sealed last."""
        last = self._batches.last()
        return 0 if last is None else last.number

    def batch(self, number: int) -> Batch:
        """Return a batch that must be there."""
        found = self._batches.get(number)
        if found is None:
            raise StoreDamaged(self._chain.blocks.path, f"batch {number} is missing")
        return found

    def has_noted(self, step: SettlementStep, number: int) -> bool:
        """Say whether it is noted how a step of a batch was done; the first needs none."""
        return number == 0 or self._batches.settled(number, step) is not None

    async def compare(self) -> BatchTotals:
        """Return how many batches L1 has, once they are known to be the chain's."""
        totals = self.totals = await self._contract.totals()
        if totals.committed > self.sealed:
            raise LayerOneMismatch(
                f"{self._l1.name} has {totals.committed} batches, and this chain {self.sealed}: the "
                "chain went back, or it is another one's L1"
            )
        await self._compare_last(totals)
        for step, done in zip(SettlementStep, msgspec.structs.astuple(totals), strict=True):
            await self._note(step, done)
        head = await self._l1.block_number()
        if not await self._is_unchanged():
            self._newest = None
            for step, done in zip(SettlementStep, msgspec.structs.astuple(totals), strict=True):
                await self._look_again(step, done, head - _DEEPEST)
        self._confirm(totals, head - self._confirmations)
        return totals

    async def placed(self, receipt: L1Receipt) -> SettlementTransaction:
        """Return what a transaction did, once it is known in which block it is."""
        block = await self._l1.block(receipt.block_number)
        if block is None or block.hash != receipt.block_hash:
            raise LayerOneMismatch(f"block {receipt.block_number} of {self._l1.name} is gone again")
        # One that is gone stays, so that the next comparison misses it.
        if self._newest is None or (
            self._newest.number < block.number and await self._is_unchanged()
        ):
            self._newest = block
        return SettlementTransaction(receipt.transaction_hash, block.number, block.timestamp)

    async def _compare_last(self, totals: BatchTotals) -> None:
        """Compare the last batch that L1 has; each one leads to the one before."""
        batch = self.batch(totals.committed)
        expected = stored_info_of(batch, self._chain.rules.chain_id).hash()
        if self._compared == (batch.number, expected):
            return
        if await self._contract.stored_batch_hash(batch.number) != expected:
            raise LayerOneMismatch(f"batch {batch.number} on {self._l1.name} is not this chain's")
        executed = self.batch(totals.executed)
        root = await self._contract.message_root(executed.number)
        if executed.number and root != executed.message_root:
            raise LayerOneMismatch(
                f"the messages of batch {executed.number} on {self._l1.name} are not this chain's"
            )
        self._compared = (batch.number, expected)

    async def _note(self, step: SettlementStep, done: int) -> None:
        """Make what is stored of a step what L1 says."""
        above = done
        while self._batches.settled(above + 1, step) is not None:
            above += 1
        if above > done:
            log.warning("%s went back: batches above %d are not settled", self._l1.name, done)
            self._batches.revert_settlement(range(done + 1, above + 1), step)
        last = noted = min(done, self._last_without_journal(step))
        while not self.has_noted(step, noted):
            noted -= 1
        for number in range(noted + 1, last + 1):
            self._batches.update_settlement(number, step, await self._found(step, number))

    def _last_without_journal(self, step: SettlementStep) -> int:
        """Return the last batch of whose step no transaction under way will tell."""
        outstanding = self._batches.pending_settlement()
        journal = None if outstanding is None else PendingSettlement.decode(outstanding)
        return self.sealed if journal is None or journal.step is not step else journal.first - 1

    async def _is_unchanged(self) -> bool:
        """Say whether every step is still in the block that is noted; after a start nobody knows."""
        newest = self._newest
        return newest is not None and await self._l1.block(newest.number) == newest

    async def _look_again(self, step: SettlementStep, last: int, oldest: int) -> None:
        """Make what is noted of a step what L1 says now: the same total may come from other blocks."""
        for number in range(last, 0, -1):
            noted = self._batches.settled(number, step)
            if noted is None:
                # The transaction under way will tell.
                continue
            if noted.block < oldest:
                return
            now = await self._now(step, number, noted)
            if now != noted:
                what = named(step, number, number)
                log.warning("%s has the %s in another place now", self._l1.name, what)
                self._batches.update_settlement(number, step, now)

    async def _now(
        self, step: SettlementStep, number: int, noted: SettlementTransaction
    ) -> SettlementTransaction:
        receipt = await self._l1.receipt(noted.transaction)
        if receipt is not None and receipt.succeeded:
            return await self.placed(receipt)
        return await self._found(step, number)

    async def _found(self, step: SettlementStep, number: int) -> SettlementTransaction:
        """Return the transaction by which somebody did a step, from the event it left."""
        last = await self._l1.block_number()
        word = Hash32(number.to_bytes(32))
        if step is SettlementStep.PROVE:
            found = await self._l1.logs(self._contract.address, [BATCHES_VERIFIED], 0, last)
            found = [it for it in found if it.topics[1] < word <= it.topics[2]]
        else:
            topic = BATCH_COMMITTED if step is SettlementStep.COMMIT else BATCH_EXECUTED
            found = await self._l1.logs(self._contract.address, [topic, word], 0, last)
        # The last one counts: batches may have been taken back and settled again.
        receipt = await self._l1.receipt(found[-1].transaction_hash) if found else None
        if receipt is None:
            raise LayerOneMismatch(
                f"{self._l1.name} has batch {number}, but no {step.name.lower()} of it"
            )
        return await self.placed(receipt)

    def _confirm(self, totals: BatchTotals, newest: int) -> None:
        """Tell the chain which of its blocks are safe, and which final."""
        safe = self._last_block(SettlementStep.COMMIT, totals.committed, newest)
        final = self._last_block(SettlementStep.EXECUTE, totals.executed, newest)
        if (safe, final) != (self._chain.finality.safe, self._chain.finality.finalized):
            self._chain.set_finality(safe=safe, finalized=final)

    def _last_block(self, step: SettlementStep, number: int, newest: int) -> int:
        """Return the last block whose step is done in an L1 block up to `newest`."""
        while number:
            done = self._batches.settled(number, step)
            if done is not None and done.block <= newest:
                break
            number -= 1
        return self.batch(number).last_block
