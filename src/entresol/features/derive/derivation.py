"""Derive a chain from L1: its batches in the order of their commits, each compared with what L1 says of it."""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_right
from contextlib import aclosing
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import msgspec

from entresol._native import CancelFlag
from entresol.counted import batches
from entresol.errors import (
    ExecutionStopped,
    LayerOneFailed,
    LayerOneMismatch,
    LayerOneRejected,
    StoreDamaged,
)
from entresol.features.derive.errors import DerivationAlarm, SnapshotRejected
from entresol.features.derive.l1_events import (
    BatchCommitted,
    BatchesReverted,
    BatchesVerified,
    BatchExecuted,
    BatchReverts,
    DepositFeed,
    L1Events,
)
from entresol.l1.availability.batch_data import EventPosition
from entresol.l1.contracts import BatchTotals
from entresol.l1.layer_one import MAX_REORG_DEPTH, agreed, inconsistent, is_canonical
from entresol.primitives.batches import SettlementStep, SettlementTransaction
from entresol.rollup.batches import stored_info_of
from entresol.storage.batch_table import DepositCursor
from entresol.storage.derivation_table import DerivedPosition

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from entresol.chain.chain import Chain
    from entresol.features.derive.batch_deriver import BatchDeriver
    from entresol.features.derive.edit_fetcher import EditFetcher
    from entresol.features.derive.l1_events import BatchClaim, BatchEvent
    from entresol.features.derive.snapshot import BatchSnapshot
    from entresol.l1.contracts import ZkChain
    from entresol.l1.layer_one import L1Block, LayerOne
    from entresol.primitives.batches import Batch
    from entresol.primitives.values import Hash32
    from entresol.rollup.batches import SealedBatch

log = logging.getLogger(__name__)

T = TypeVar("T")
RETRY_SECONDS: Final = 1.0
MAX_FAILURES: Final = 5
"""How often in a row L1 may fail, or contradict itself, before a batch is derived; and how many rounds in a row may
end with an alarm, whatever it is about."""
CAUGHT_UP: Final = 16
"""How many batches L1 may have committed meanwhile: an operator that runs always commits some."""
_LAST_LOG: Final = 2**32 - 1


class DerivationSources(NamedTuple):
    """The sources that may be asked beside L1; all of it is compared with what L1 says."""

    edits: EditFetcher | None = None
    """Edits of which L1 has only the hash."""
    snapshot: BatchSnapshot | None = None
    """A batch that cannot be derived, and that L1 has executed."""


L1_ALONE: Final = DerivationSources()


class StepReader:
    """Reads of the transaction of an event what its log does not say: the time of its block, and its gas."""

    def __init__(self, l1: LayerOne) -> None:
        self._l1 = l1
        self._last: tuple[Hash32, SettlementTransaction] | None = None

    async def step_of(self, event: BatchEvent) -> SettlementTransaction:
        """Return the transaction of an event; its gas is None if L1 does not have its receipt any more."""
        position, transaction = event.position, event.transaction
        if self._last is not None:
            block_hash, last = self._last
            if (block_hash, last.transaction) == (position.block_hash, transaction):
                return last
        block = await agreed(
            self._l1, f"block {position.block}", lambda: self._l1.block(position.block)
        )
        if block is None or block.hash != position.block_hash:
            raise inconsistent(self._l1, position.block)
        found = SettlementTransaction(
            transaction,
            block.number,
            block.timestamp,
            await self._gas(transaction, position.block_hash),
        )
        self._last = position.block_hash, found
        return found

    async def _gas(self, transaction: Hash32, block_hash: Hash32) -> int | None:
        """Return what L1 took for a transaction; a node that has all logs may know only the latest transactions."""
        receipt = await agreed(
            self._l1, f"the receipt of {transaction}", lambda: self._l1.receipt(transaction)
        )
        if receipt is None:
            return None
        if receipt.block_hash != block_hash:
            raise LayerOneMismatch(
                f"{self._l1.name} has the transaction {transaction} in another block than its logs say"
            )
        return receipt.gas_used


class EventRound:
    """Checks that the events of a round follow from each other, and passes them on."""

    def __init__(
        self,
        derivation: Derivation,
        feed: DepositFeed,
        reverts: BatchReverts,
        totals: BatchTotals,
        head: L1Block,
    ) -> None:
        self._derivation = derivation
        self._feed = feed
        self._reverts = reverts
        self._totals = totals
        self._head = head
        self._seen = derivation.steps()

    async def take(self, event: BatchEvent) -> None:
        """Take the next event."""
        derivation, seen = self._derivation, self._seen
        lasting = self._reverts.last_after(event.position)
        if isinstance(event, BatchCommitted):
            number = event.claim.number
            self._check(number == seen.committed + 1, event, f"batch {number} is committed")
            if number <= lasting:
                await derivation.commit(event, self._feed, self._head, self._totals)
            self._seen = msgspec.structs.replace(seen, committed=number)
            derivation.report(self._totals)
        elif isinstance(event, BatchesVerified):
            is_next = event.before <= seen.verified and event.last <= seen.committed
            self._check(is_next, event, f"batches {event.before + 1} to {event.last} are verified")
            numbers = range(event.before + 1, min(event.last, lasting) + 1)
            if numbers:
                await derivation.verified(event, numbers)
            self._seen = msgspec.structs.replace(seen, verified=max(seen.verified, event.last))
        elif isinstance(event, BatchExecuted):
            is_next = event.number <= min(seen.executed + 1, seen.verified)
            self._check(is_next, event, f"batch {event.number} is executed")
            await derivation.executed(event)
            self._seen = msgspec.structs.replace(seen, executed=max(seen.executed, event.number))
        else:
            self._revert(event)

    def check(self, l1: str) -> None:
        """Raise `LayerOneMismatch` unless the logs add up to what L1 counts."""
        if self._seen != self._totals:
            raise LayerOneMismatch(
                f"the logs of {l1} have {_shown(self._seen)}, and its contract counts {_shown(self._totals)}"
            )

    def _revert(self, event: BatchesReverted) -> None:
        left, seen = event.totals, self._seen
        is_next = seen.executed <= left.committed < seen.committed
        self._check(is_next, event, f"the batches after {left.committed} are reverted")
        self._seen = BatchTotals(left.committed, min(seen.verified, left.committed), seen.executed)

    def _check(self, is_right: bool, event: BatchEvent, what: str) -> None:  # noqa: FBT001
        if not is_right:
            raise LayerOneMismatch(
                f"log {event.position.log_index} of L1 block {event.position.block} says that {what}, but the logs "
                f"before it have {_shown(self._seen)}: some are missing"
            )


def _shown(totals: BatchTotals) -> str:
    return f"{batches(totals.committed)} committed, {totals.verified} verified, {totals.executed} executed"


async def run_blocks(work: Callable[[Callable[[int], None]], T], show: Callable[[int], None]) -> T:
    """Return what work returns that calls its argument before each block; if this is cancelled, so is the work.

    The work has a thread of its own, since signals reach only an event loop that turns. `show` is called there, with
    the number of each block; a cancelled work ends within a transaction, and what it raises is dropped.
    """
    flag = CancelFlag()

    def before(block: int) -> None:
        if flag.is_set:
            raise ExecutionStopped("the execution was cancelled")
        show(block)

    def run() -> T:
        with flag:
            return work(before)

    running = asyncio.ensure_future(asyncio.to_thread(run))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        flag.set()
        await asyncio.gather(running, return_exceptions=True)
        raise


class DerivationProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a derivation is."""

    batch: int
    """The last batch."""
    block: int
    """The last block."""
    committed: int
    """How many batches L1 has."""


class Derivation:
    """Derives a chain from the logs of its contract on L1.

    A batch counts by its last commit: reverts are read first, and what they undo is not derived. Remembers: what the
    logs of a round add up to. Persists: each batch with its position on L1 and the transaction that committed it in one
    write, then what proved and executed it; a start goes on after the last batch that L1 still has. Assumes: the thread
    of the chain, which nothing else changes. Fails: with `DerivationAlarm` once a batch was read twice, which leaves
    the batches before it, or once several rounds have each ended with another; with `LayerOneMismatch`; and as
    `LayerOne` does, after several attempts. Blocks are executed on a thread, so that cancelling ends it within a block.
    """

    def __init__(
        self,
        chain: Chain,
        contract: ZkChain,
        deriver: BatchDeriver,
        *,
        sources: DerivationSources = L1_ALONE,
        report: Callable[[DerivationProgress], None] = lambda _progress: None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._chain = chain
        self._batches = chain.batches
        self._table = chain.batches.derivation
        self._contract = contract
        self._l1 = contract.l1
        self._events = L1Events(contract)
        self._steps = StepReader(contract.l1)
        self._deriver = deriver
        self._edits, self._snapshot = sources
        self._alarm: DerivationAlarm | None = None
        """The one of the round before, which a node of L1 may have caused that lags, or is on another fork."""
        self._report = report
        self._sleep = sleep
        self.derived = 0
        """How many batches were derived."""
        self.reverted = 0
        """How many batches were removed again, since L1 has reverted or replaced them."""

    @property
    def last(self) -> Batch:
        """The last batch."""
        found = self._batches.last()
        if found is None:
            raise StoreDamaged(self._chain.blocks.path, "batch 0 is missing")
        return found

    async def run(self) -> None:
        """Derive all that L1 has."""
        failures = alarms = for_good = 0
        while True:
            before = self.derived
            try:
                is_same = await self.round()
            except DerivationAlarm as error:
                alarms += 1
                if self._was_there(error) or alarms >= MAX_FAILURES:
                    self._table.set_alarm(str(error))
                    raise
                self._alarm = error
                log.warning("%s: reading it again", error)
                continue
            except LayerOneFailed as error:
                failures = failures + 1 if self.derived == before else 1
                if failures >= MAX_FAILURES:
                    raise
                log.warning("%s; retrying", error)
                await self._sleep(RETRY_SECONDS)
                continue
            failures, alarms, self._alarm = 0, 0, None
            for_good += 1
            if is_same or (for_good > 1 and self.derived - before <= CAUGHT_UP):
                self._table.set_alarm(None)
                return

    async def round(self) -> bool:
        """Derive all that L1 has at its head; return whether it has no more by then."""
        head = await self._l1.head()
        start = await self._start()
        totals = await self._contract.totals(head.hash)
        reverts = await self._read_reverts(start, head)
        if reverts.last is not None and reverts.last < self.last.number:
            log.info("the operator has reverted the batches after %d", reverts.last)
            self._unwind(reverts.last)
            start = self._position()
        feed = DepositFeed(
            self._contract,
            self._chain.blocks.next_priority_id(),
            self._deposits_from(),
            head.number,
        )
        step = EventRound(self, feed, reverts, totals, head)
        async with aclosing(feed), aclosing(self._events.after(start, head.number)) as events:
            async for event in events:
                await step.take(event)
            step.check(self._l1.name)
            await self._check_last(head)
            await self._note_deposits(feed, head)
        await self._note_final(head)
        self._report(self.progress(totals))
        return await self._contract.totals() == totals

    def _was_there(self, alarm: DerivationAlarm) -> bool:
        before = self._alarm
        return before is not None and (before.batch, before.field) == (alarm.batch, alarm.field)

    def progress(self, totals: BatchTotals) -> DerivationProgress:
        """Return how far it is, if L1 has so many batches."""
        last = self.last
        return DerivationProgress(
            batch=last.number, block=last.last_block, committed=totals.committed
        )

    # Where it goes on

    async def _start(self) -> EventPosition | None:
        """Return the position of the last batch that L1 still has, once the chain ends with it; None of the genesis."""
        last = self.last
        if self._chain.number != last.last_block:
            # It was interrupted within a batch.
            self._deriver.unwind(last.last_block)
        known = await self._last_known(last.number)
        if known < last.number:
            log.warning(
                "a reorg of %s replaced the commit of batch %d: going back to batch %d",
                *(self._l1.name, known + 1, known),
            )
            self._unwind(known)
        position = self._position()
        if position is not None:
            # What a reorg left of later steps; they are read again.
            self._batches.revert_settlement_above(position.block)
        return position

    async def _last_known(self, number: int) -> int:
        """Return the last batch up to `number` whose commit L1 has; what is before a block that it has, it has, too."""
        known, unknown = 0, number + 1
        while known + 1 < unknown:
            middle = number if unknown == number + 1 else (known + unknown) // 2
            position = self._stored(middle)
            if await is_canonical(self._l1, position.block, position.block_hash):
                known = middle
            else:
                unknown = middle
        return known

    def _position(self) -> EventPosition | None:
        number = self.last.number
        return EventPosition(*self._stored(number)[:3]) if number else None

    def _deposits_from(self) -> int:
        number = self.last.number
        return self._stored(number).deposits_from if number else self._contract.first_block

    def _stored(self, number: int) -> DerivedPosition:
        found = self._table.at(number)
        if found is None:
            raise StoreDamaged(self._chain.blocks.path, f"batch {number} has no position on L1")
        return found

    def _unwind(self, number: int) -> None:
        """Revert the chain to the end of a batch; raise if a later one is final on L1."""
        final = self._table.final_batch
        if number < final:
            raise LayerOneMismatch(
                f"{self._l1.name} does not have batch {final} any more, whose execution was final: it is "
                "another L1, or it was reverted "
                "further than an L1 ever is. Derive the chain into a new directory"
            )
        batch = self._batches.get(number)
        assert batch is not None
        self.reverted += self.last.number - number
        self._deriver.unwind(batch.last_block)

    async def _read_reverts(self, start: EventPosition | None, head: L1Block) -> BatchReverts:
        reverts = BatchReverts()
        async with aclosing(self._events.reverts_after(start, head.number)) as found:
            async for revert in found:
                reverts.add(revert)
        return reverts

    # What the events of a round do

    async def commit(
        self, event: BatchCommitted, feed: DepositFeed, head: L1Block, totals: BatchTotals
    ) -> None:
        """Derive a batch, or accept one that L1 has executed although it cannot be derived."""
        by = await self._steps.step_of(event)
        await feed.fill(event.position)
        if self._edits is not None:
            await self._edits.fetch(event.claim)
        accepted, before = None, self.progress(totals)

        def shown(block: int) -> None:
            self._report(msgspec.structs.replace(before, block=block - 1))

        try:
            sealed = await run_blocks(
                lambda before: self._deriver.derive(event.claim, feed.take, before), shown
            )
        except DerivationAlarm as alarm:
            snapshot = self._snapshot
            if snapshot is None or snapshot.batch != alarm.batch or not self._was_there(alarm):
                raise
            sealed = await self._accept(event.claim, snapshot, head, totals)
            accepted = snapshot.accepted(sealed.batch, alarm)
            log.warning("%s", accepted)
        batch = sealed.batch
        feed.drop(batch.first_priority_id + batch.l1_transactions)
        pending = feed.pending_from
        block = event.position.block
        position = DerivedPosition(
            *event.position, deposits_from=block if pending is None else min(pending, block)
        )
        self._batches.append_derived(sealed, position, by, accepted)
        self.derived += 1

    async def _accept(
        self, claim: BatchClaim, snapshot: BatchSnapshot, head: L1Block, totals: BatchTotals
    ) -> SealedBatch:
        """Take a batch from a snapshot, if L1 has executed it, and as it is there."""
        number = claim.number
        if totals.executed < number:
            problem = f"{self._l1.name} has not executed it: the operator can still revert it"
            raise SnapshotRejected(number, snapshot.name, problem)
        expected = await self._contract.stored_batch_hash(number, head.hash)
        sealed = await run_blocks(
            lambda before: self._deriver.accept(claim, snapshot, before), lambda _block: None
        )
        found = stored_info_of(sealed.batch, self._chain.rules.chain_id).hash()
        if found != expected:
            self._deriver.unwind(self.last.last_block)
            problem = f"its hash is {found} there, and {expected} on {self._l1.name}"
            raise SnapshotRejected(number, snapshot.name, problem)
        return sealed

    async def verified(self, event: BatchesVerified, numbers: range) -> None:
        """Record what proved batches."""
        by = await self._steps.step_of(event)
        self._batches.update_settlement(numbers, SettlementStep.PROVE, by)

    async def executed(self, event: BatchExecuted) -> None:
        """Record what executed a batch; raise if L1 has executed another one than it has committed."""
        batch = self._batches.get(event.number)
        assert batch is not None
        info = stored_info_of(batch, self._chain.rules.chain_id)
        if (info.state_root, info.commitment) != (event.state_root, event.commitment):
            raise LayerOneMismatch(
                f"{self._l1.name} has executed another batch {event.number} than it has committed"
            )
        by = await self._steps.step_of(event)
        self._batches.update_settlement([event.number], SettlementStep.EXECUTE, by)

    def report(self, totals: BatchTotals) -> None:
        """Say how far it is."""
        self._report(self.progress(totals))

    def steps(self) -> BatchTotals:
        """Return how far the recorded batches are."""
        settled = self._batches.last_settled
        return BatchTotals(
            self.last.number, settled(SettlementStep.PROVE), settled(SettlementStep.EXECUTE)
        )

    # The end of a round

    async def _check_last(self, head: L1Block) -> None:
        """Compare the last batch with what L1 stores of it; its hash covers everything."""
        batch = self.last
        expected = stored_info_of(batch, self._chain.rules.chain_id).hash()
        found = await self._contract.stored_batch_hash(batch.number, head.hash)
        if found != expected:
            raise DerivationAlarm(batch.number, "stored hash", found, expected)
        if await self._l1.block(head.number) != head:
            raise LayerOneMismatch(f"{self._l1.name} has another block {head.number} now")

    async def _note_deposits(self, feed: DepositFeed, head: L1Block) -> None:
        """Record up to which L1 block all deposits are in batches, so that a node reads on from there."""
        await feed.fill(EventPosition(head.number, head.hash, _LAST_LOG))
        next_id, pending = self._chain.blocks.next_priority_id(), feed.pending_from
        if pending is None:
            self._batches.set_deposit_cursor(DepositCursor(head.number, head.hash, next_id))
        elif pending and (before := await self._l1.block(pending - 1)) is not None:
            self._batches.set_deposit_cursor(DepositCursor(before.number, before.hash, next_id))

    async def _note_final(self, head: L1Block) -> None:
        """Record which batch L1 has executed for good."""
        try:
            final = await self._l1.block_number("finalized")
        except LayerOneRejected:
            final = head.number - MAX_REORG_DEPTH
        executed = range(1, 1 + self._batches.last_settled(SettlementStep.EXECUTE))
        self._table.set_final_batch(bisect_right(executed, final, key=self._executed_in))

    def _executed_in(self, number: int) -> int:
        by = self._batches.settled(number, SettlementStep.EXECUTE)
        assert by is not None
        return by.block
