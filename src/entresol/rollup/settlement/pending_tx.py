"""The pending settlement transaction of each step, persisted before it is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import msgspec

from entresol.chain.journal import StoreJournal
from entresol.errors import MalformedValue
from entresol.l1.operator import SignedTransaction
from entresol.l1.tx_manager import with_attempt
from entresol.primitives.batches import SettlementStep
from entresol.primitives.records import Natural, NotEmpty, RecordPart
from entresol.primitives.transactions import decode
from entresol.storage.log_entries import ConfirmedEntry, OutgoingEntry, SettledEntry, UnsettledEntry

if TYPE_CHECKING:
    from entresol.chain.journal import Journal
    from entresol.l1.contracts import BatchTotals
    from entresol.primitives.batches import SettlementTransaction
    from entresol.primitives.values import Address
    from entresol.storage.batch_table import BatchTable


class SettlementOperation(NamedTuple):
    """One step of consecutive batches, done by one transaction."""

    step: SettlementStep
    first: int
    last: int

    @property
    def batches(self) -> range:
        """The numbers of its batches."""
        return range(self.first, self.last + 1)

    def is_next(self, totals: BatchTotals) -> bool:
        """Return whether L1 has what the step builds on, and not the step itself."""
        return not self.missing(totals) and totals.last(self.step) == self.first - 1

    def missing(self, totals: BatchTotals) -> list[SettlementStep]:
        """Return the steps that this one builds on, and that L1 has not."""
        return [
            step for step in SettlementStep if step < self.step and totals.last(step) < self.last
        ]

    def __str__(self) -> str:
        one = self.first == self.last
        batches = f"batch {self.first}" if one else f"batches {self.first} to {self.last}"
        return f"{self.step.name.lower()} of {batches}"


class PendingSettlement(RecordPart, frozen=True):
    """An operation and every transaction that was signed for it, all with the same nonce.

    L1 includes at most one of them, so after a crash they can be sent again.
    """

    step: SettlementStep
    first: Natural
    last: Natural
    nonce: Natural
    attempts: tuple[NotEmpty, ...]
    """The raw transactions, the one with the highest fee last."""

    @classmethod
    def of(cls, operation: SettlementOperation, signed: SignedTransaction) -> Self:
        """Return the record of an operation's first transaction."""
        return cls(*operation, signed.nonce, (signed.raw,))

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Read what `encode` writes."""
        try:
            return msgspec.msgpack.decode(data, type=cls)
        except msgspec.DecodeError as error:
            problem = f"the pending settlement transaction is not readable: {error}"
            raise MalformedValue(problem) from error

    def encode(self) -> bytes:
        """Return the record in MessagePack."""
        return msgspec.msgpack.encode(self)

    @property
    def sender(self) -> Address:
        """The account whose key signed it."""
        return decode(self.attempts[0]).sender

    @property
    def operation(self) -> SettlementOperation:
        """The step and its batches."""
        return SettlementOperation(self.step, self.first, self.last)

    def with_attempt(self, signed: SignedTransaction) -> Self:
        """Return the record with one more transaction, in the order of fees."""
        attempts = with_attempt(self.transactions(), signed)
        return msgspec.structs.replace(
            self, attempts=tuple(attempt.raw for attempt in reversed(attempts))
        )

    def transactions(self) -> list[SignedTransaction]:
        """Return every transaction, the one with the highest fee first."""
        return [
            SignedTransaction(self.nonce, decode(raw).hash, raw) for raw in reversed(self.attempts)
        ]


class PendingSettlements:
    """The pending transaction of each step, and the transactions of the steps that are done.

    Persists: a transaction before it is sent, until its effect is recorded, by entries of the chain's journal.
    """

    def __init__(self, batches: BatchTable, journal: Journal | None = None) -> None:
        self._batches = batches
        self._journal = journal or StoreJournal(batches)

    def pending(self, step: SettlementStep) -> PendingSettlement | None:
        """Return the pending transaction of a step, with every attempt."""
        stored = self._batches.pending_settlement(step)
        return None if stored is None else PendingSettlement.decode(stored)

    async def persist(self, pending: PendingSettlement) -> None:
        """Add a pending transaction, or replace that of its step."""
        await self._journal.write(OutgoingEntry(pending.step, pending.encode()))

    async def drop(self, step: SettlementStep) -> None:
        """Remove the pending transaction of a step."""
        await self._journal.write(OutgoingEntry(step, b""))

    async def settle(self, numbers: range, step: SettlementStep, by: SettlementTransaction) -> None:
        """Record the transaction that did a step, and remove the pending one, in one write."""
        await self._journal.write(SettledEntry.of(numbers, step, by, ends_outgoing=True))

    async def update(self, number: int, step: SettlementStep, by: SettlementTransaction) -> None:
        """Record another transaction for a step of a batch; the pending one stays."""
        numbers = range(number, number + 1)
        await self._journal.write(SettledEntry.of(numbers, step, by, ends_outgoing=False))

    async def revert(self, numbers: range, step: SettlementStep) -> None:
        """Remove the record of a step of some batches, after a reorg of L1."""
        await self._journal.write(UnsettledEntry(step, numbers[0], numbers[-1]))

    async def confirm(self, safe: int, finalized: int) -> None:
        """Record which blocks L1 has confirmed."""
        await self._journal.write(ConfirmedEntry(safe, finalized))
