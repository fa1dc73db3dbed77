"""Book executed batches on L1: what their bundles carry to other chains, and then their roots."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol._native import keccak256
from entresol.errors import EntresolError, ExecutionFailed, LayerOneMismatch, LayerOneRejected
from entresol.l1.contracts import failure_reason, read_contract
from entresol.l1.layer_one import MAX_REORG_DEPTH, agreed
from entresol.primitives import abi
from entresol.primitives.batches import SettlementStep
from entresol.primitives.interop_bundles import MAX_BOOKED_LOGS, bundles_in, has_bundles
from entresol.primitives.values import Hash32
from entresol.rollup.interop.root_follower import imports_roots
from entresol.rollup.work_queue import WorkQueue
from entresol.storage.log_entries import BookedEntry, UnbookedEntry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.chain.chain import Chain
    from entresol.chain.journal import Journal
    from entresol.l1.layer_one import L1Block, L1Log, L1Receipt, LayerOne
    from entresol.primitives.batches import Batch, SettlementTransaction
    from entresol.primitives.values import Address
    from entresol.rollup.settlement.l1_sync import L1Sync
    from entresol.rollup.settlement.step_sender import StepTransactions
    from entresol.rollup.step_loop import Backoff

BATCH_APPENDED: Final = Hash32(keccak256(b"AppendedChainBatchRoot(uint256,uint256,bytes32)"))
_SETTLE: Final = "settle(uint256,uint256,bytes,bytes[])"

log = logging.getLogger(__name__)

SCANNED_PER_STEP: Final = 1_024
RETRIES_PER_BLOCK: Final = 4
"""How many rejected batches are tried again because L1 has a new block: each is an estimate."""
_CHAINS_TO_BOOK: Final = 2
"""A single chain has nobody to send anything to."""
_PASSING: Final = ("BatchAlreadySettled", "BatchNotExecuted")
"""Errors by which L1 rejects for a moment only: another account was faster, or a reorg of L1 removed the execution."""


class BooksContract:
    """The `MessageRoot` of L1, as the operator of one chain uses it."""

    def __init__(self, l1: LayerOne, address: Address, chain_id: int) -> None:
        self.l1 = l1
        self.address = address
        self._chain_id = chain_id

    async def chain_count(self, block: Hash32) -> int:
        """Return how many chains settle on L1, as of a block."""
        return int(
            await read_contract(self.l1, self.address, "chainCount()", "uint256", block=block)
        )

    async def is_settled(self, batch: int, block: Hash32) -> bool:
        """Return whether a batch is booked with all of its bundles, as of a block."""
        found = await read_contract(
            *(self.l1, self.address, "isSettled(uint256,uint256)", "bool", self._chain_id, batch),
            block=block,
        )
        return bool(found)

    async def appended(self, batch: int, first: int, last: int) -> L1Log | None:
        """Return the event of the root of a batch in a range of L1 blocks."""
        words = [Hash32(number.to_bytes(32)) for number in (self._chain_id, batch)]
        found = await self.l1.logs(self.address, [BATCH_APPENDED, *words], first, last)
        return found[-1] if found else None

    def settle_call(self, batch: int, logs: bytes, messages: Sequence[bytes]) -> bytes:
        """Return the call that books a batch: all its logs, and its bundles in their order."""
        return abi.encode_call(_SETTLE, self._chain_id, batch, logs, list(messages))


class _Sent(NamedTuple):
    """A batch and the transaction that is to book it."""

    number: int
    transaction: Hash32


class Bookkeeper:
    """Calls `MessageRoot.settle` for executed batches with messages, once L1 has two chains.

    Of a batch, L1 leaves out the bundles that it rejects, say because its chain does not have what they carry. Until
    these are booked, too, it is tried again after pauses that double, and when L1 has a new block. What is booked is
    what L1 says is: another account may be faster, and a reorg may remove it. Persists: where L1 booked a batch, or
    why it does not; not what it sends, since a second attempt is rejected before it is signed. Assumes: the key has
    no other transaction pending while it sends. Fails: as `LayerOne` does, and the next step tries again; a revert is
    the batch's problem.
    """

    def __init__(
        self,
        chain: Chain,
        contract: BooksContract,
        l1_sync: L1Sync,
        transactions: StepTransactions,
        *,
        journal: Journal,
        backoff: Backoff,
    ) -> None:
        self._chain = chain
        self._blocks = chain.blocks
        self._batches = chain.batches
        self._books = chain.batches.books
        self._contract = contract
        self._l1 = contract.l1
        self._l1_sync = l1_sync
        self._transactions = transactions
        self._journal = journal
        self._queue: WorkQueue[int, int] = WorkQueue(backoff=backoff)
        self._next = 1
        """The batch that is looked at next."""
        self._tried_at: Hash32 | None = None
        self._has_others = False
        self._asked_at: Hash32 | None = None
        self._checked_at: L1Block | None = None
        self._sent: _Sent | None = None
        self.last = 0
        """The highest batch that is booked, of those that were looked at."""
        self.failure: EntresolError | None = None
        """The failure of the last step; it concerns all batches."""

    def problem_of(self, batch: int) -> str | None:
        """Return why L1 does not book a batch; None if it has, or was not asked yet."""
        return self._books.problem_of(batch)

    @property
    def problem(self) -> str | None:
        """Why L1 does not book some batches: the reason of the first one, and how many others there are."""
        failing = self._queue.failing
        if not failing:
            return None if self.failure is None else str(self.failure)
        first, others = min(failing), len(failing) - 1
        more = f", and {others} more" if others else ""
        return f"batch {first}: {self._queue.reason(first)}{more}"

    @property
    def rejected(self) -> int:
        """How many batches L1 rejects the books of."""
        return len(self._queue.failing)

    @property
    def is_sending(self) -> bool:
        """Whether a transaction is pending."""
        return self._sent is not None

    def reset(self) -> None:
        """Look at all batches again, since the chain was reverted."""
        self._restart()
        self._sent = None

    def _restart(self) -> None:
        self._queue.clear()
        self._next, self.last = 1, 0

    async def follow(self, now: float) -> None:
        """Compare the records with L1 after a reorg, and record what became of the transaction that is pending."""
        head = self._head
        checked = self._checked_at
        if checked is None or await self._l1.block(checked.number) != checked:
            # L1 may have made many blocks since it replaced the one that was checked.
            last = head.number if checked is None else min(head.number, checked.number)
            await self._recheck(head, last - MAX_REORG_DEPTH)
            self._checked_at = head
        elif head.number >= checked.number:
            self._checked_at = head
        await self._finish(now)

    async def advance(self, now: float) -> bool:
        """Try to book the next batch; return whether there may be more to do at once."""
        if self._sent is not None:
            return False
        more = self._scan(now)
        if not self._queue or not await self._is_needed():
            return more
        if self._tried_at != self._head.hash:
            # What a batch lacks may be there now.
            self._tried_at = self._head.hash
            self._queue.retry_some(RETRIES_PER_BLOCK)
        number = next((batch for batch, _ in self._queue.due(now)), None)
        if number is None:
            return more
        await self.book(number, now)
        return True

    def _scan(self, now: float) -> bool:
        """Look at some more batches up to the last executed one; return whether there are more, and room for them."""
        if self._queue.to_look_back(now):
            self._next = 1
        executed = self._l1_sync.last_recorded(SettlementStep.EXECUTE)
        last = min(executed, self._next + SCANNED_PER_STEP - 1)
        if self._next <= last:
            self._queue.make_room(RETRIES_PER_BLOCK, now)
        while self._next <= last and self._queue.room():
            number, batch = self._next, self._batches.get(self._next)
            if self._books.get(number) is not None:
                self.last = max(self.last, number)
            elif batch is not None and batch.has_messages:
                self._queue.add(number, number, now)
            self._next += 1
        return self._next <= executed and self._queue.room() > 0

    async def book(self, number: int, now: float) -> None:
        """Have L1 book a batch, or record why it does not: whatever it fails with, others go first then."""
        head = self._head
        if self._queue.room():
            self._queue.add(number, number, now)
        try:
            await self._book(number, now)
        except EntresolError as error:
            if isinstance(error, LayerOneRejected) and await self._l1.block(head.number) == head:
                # Say because its call is larger than what L1 takes, and not because a reorg removed the head.
                await self._reject(number, str(error), now)
                return
            self._queue.failed(number, str(error), now)
            raise

    async def _book(self, number: int, now: float) -> None:
        batch, head = self._l1_sync.batch(number), self._head
        if batch.logs > MAX_BOOKED_LOGS:
            # It has no bundles: no block with bundles has so many.
            problem = f"it has {batch.logs} messages to L1, and L1 books {MAX_BOOKED_LOGS} at most"
            await self._reject(number, problem, now)
            self._queue.remove(number)
            return
        if await self._contract.is_settled(number, head.hash):
            await self._record(number, await self._find(number))
            return
        try:
            sent = await self._transactions.send_call(
                self._contract.address, self._call(batch), now
            )
        except ExecutionFailed as failure:
            await self._reject(number, failure_reason(failure), now)
        else:
            self._queue.take(number)
            self._sent = _Sent(number, sent)
            await self._finish(now)

    @property
    def _head(self) -> L1Block:
        head = self._l1_sync.head
        assert head is not None, "L1 is read before anything is booked"
        return head

    async def _is_needed(self) -> bool:
        """Return whether L1 has another chain; it is asked once a block until it has."""
        if not imports_roots(self._chain):
            return False
        head = self._head
        if not self._has_others and self._asked_at != head.hash:
            # It is not asked again before the next block, which may be long in coming.
            count = await agreed(
                self._l1, "its chains", lambda: self._contract.chain_count(head.hash)
            )
            self._has_others, self._asked_at = count >= _CHAINS_TO_BOOK, head.hash
        return self._has_others

    def _call(self, batch: Batch) -> bytes:
        logs = self._batches.logs(batch.number)
        return self._contract.settle_call(batch.number, logs, self._bundles(batch, logs))

    def _bundles(self, batch: Batch, logs: bytes) -> list[bytes]:
        """Return the messages of the interop center in a batch, in order."""
        found: list[bytes] = []
        if not has_bundles(logs):
            return found
        for number in range(batch.first_block, batch.last_block + 1):
            record = self._blocks.get_record(number)
            assert record is not None, "a batch is deleted with its blocks"
            for result in record.results:
                if result.l2_to_l1_logs:
                    found += bundles_in(result.logs)
        return found

    # What became of it

    async def _finish(self, now: float) -> None:
        """Record what became of the transaction that is pending, if L1 has included it."""
        if self._sent is None:
            return
        number, transaction = self._sent
        receipt = await self._l1.receipt(transaction)
        if receipt is None:
            if self._transactions.calling != transaction:
                # Another one has its nonce, or it was given up.
                self._sent = None
                self._queue.retry(number)
            return
        is_settled = await self._contract.is_settled(number, receipt.block_hash)
        if receipt.succeeded:
            await self._watch(receipt.block_number)
        if is_settled and receipt.succeeded:
            await self._record(number, await self._l1_sync.settlement_of(receipt))
        elif is_settled:
            # Another account was faster, perhaps in the same block.
            self._queue.retry(number)
        else:
            reason = await self._reason(number, receipt)
            await self._reject(number, reason, now, is_partial=receipt.succeeded)
        # Not before: what fails until here is looked at again.
        self._sent = None

    async def _record(self, number: int, by: SettlementTransaction) -> None:
        await self._journal.write(BookedEntry.of(number, by))
        self._queue.remove(number)
        self.last = max(self.last, number)
        log.info("booked batch %d: L1 transaction %s", number, by.transaction)

    async def _reject(
        self, number: int, reason: str, now: float, *, is_partial: bool = False
    ) -> None:
        """Try a batch again later, record why it is not booked, and log it, unless the reason is that of before."""
        self._queue.failed(number, reason, now)
        is_partial = is_partial or self._books.is_partial(number)
        if not reason.startswith(_PASSING) and self.problem_of(number) != reason:
            await self._journal.write(UnbookedEntry(number, reason, is_partial))
            log.warning(
                "batch %d is executed, but %s does not book all of it: %s",
                number,
                self._l1.name,
                reason,
            )

    async def _reason(self, number: int, receipt: L1Receipt) -> str:
        """Repeat a call, and return what it reverts with.

        One that reverted is repeated on the block before it; one that left out bundles on its own, where it reverts
        with the reason of the first of them.
        """
        call = self._call(self._l1_sync.batch(number))
        block = receipt.block_number - (not receipt.succeeded)
        sender = self._transactions.address
        try:
            await self._l1.call(self._contract.address, call, sender=sender, block=block)
        except ExecutionFailed as failure:
            return failure_reason(failure)
        done = "left out a bundle" if receipt.succeeded else "reverted"
        return f"transaction {receipt.transaction_hash} {done}, and the call does not now"

    # Reorgs

    async def _watch(self, number: int) -> None:
        """Notice from now on if L1 replaces a block after the last one at which the records were right."""
        checked = self._checked_at
        if checked is not None and number > checked.number:
            block = await self._l1.block(number)
            # If L1 has replaced that one already, the next look notices.
            if await self._l1.block(checked.number) == checked:
                self._checked_at = block

    async def _recheck(self, head: L1Block, above: int) -> None:
        """Compare the records of L1 blocks above one with L1, which may have replaced these."""
        for number in self._books.above(above):
            recorded = self._books.get(number)
            is_settled = await agreed(
                *(self._l1, f"the books of batch {number}"),
                partial(self._contract.is_settled, number, head.hash),
            )
            if not is_settled:
                level = self._l1.reorg_level
                log.log(level, "a reorg of %s removed the books of batch %d", self._l1.name, number)
                await self._journal.write(UnbookedEntry(number))
                continue
            receipt = None if recorded is None else await self._l1.receipt(recorded.transaction)
            if receipt is None or not receipt.succeeded:
                found = await self._find(number)
            else:
                found = await self._l1_sync.settlement_of(receipt)
            if recorded is None or not found.is_at_place_of(recorded):
                await self._journal.write(BookedEntry.of(number, found))
        self._restart()

    async def _find(self, number: int) -> SettlementTransaction:
        """Return the transaction that booked a batch, by its event."""
        executed = self._batches.settled(number, SettlementStep.EXECUTE)
        first = 0 if executed is None else max(0, executed.block - MAX_REORG_DEPTH)
        last = self._head.number
        event = await agreed(
            *(self._l1, f"the books of batch {number}"),
            lambda: self._contract.appended(number, first, last),
        )
        if event is None:
            raise LayerOneMismatch(
                f"{self._l1.name} has booked batch {number}, but no event says so"
            )
        return await self._l1_sync.settlement_by(event)
