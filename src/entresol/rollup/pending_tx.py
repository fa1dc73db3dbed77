"""The pending settlement transaction, persisted before it is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import msgspec

from entresol.errors import MalformedValue
from entresol.l1.operator import SignedTransaction
from entresol.primitives.batches import SettlementStep
from entresol.primitives.records import Natural, NotEmpty, RecordPart
from entresol.primitives.transactions import decode

if TYPE_CHECKING:
    from entresol.l1.contracts import BatchTotals


class SettlementOperation(NamedTuple):
    """One step of consecutive batches, done by one transaction."""

    step: SettlementStep
    first: int
    last: int

    def is_next(self, totals: BatchTotals) -> bool:
        """Say whether L1 has what the step builds on, and not the step itself."""
        if self.step is SettlementStep.PROVE and totals.committed < self.last:
            return False
        if self.step is SettlementStep.EXECUTE and totals.verified < self.last:
            return False
        return totals.last(self.step) == self.first - 1

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
    """The raw transactions, the one with the highest fee last; none is ever removed."""

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
    def operation(self) -> SettlementOperation:
        """The step and its batches."""
        return SettlementOperation(self.step, self.first, self.last)

    def with_attempt(self, signed: SignedTransaction) -> Self:
        """Return the record with one more transaction, in the order of fees."""
        attempts = [*reversed(self.transactions()), signed]
        attempts.sort(key=lambda it: it.fees)
        return msgspec.structs.replace(self, attempts=tuple(it.raw for it in attempts))

    def transactions(self) -> list[SignedTransaction]:
        """Return every transaction, the one with the highest fee first."""
        return [
            SignedTransaction(self.nonce, decode(raw).hash, raw) for raw in reversed(self.attempts)
        ]
