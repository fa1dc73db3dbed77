"""The settlement transaction that is under way, written down before it is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import msgspec

from entresol.errors import MalformedValue
from entresol.l1.operator import SignedTransaction
from entresol.primitives.batches import SettlementStep
from entresol.primitives.records import Natural, NotEmpty, RecordPart
from entresol.primitives.transactions import decode

if TYPE_CHECKING:
    from entresol.l1.contracts import BatchTotals


class PendingSettlement(RecordPart, frozen=True):
    """A step of some batches, and every transaction that was signed for it, all with one nonce.

    Only one of them can ever be in a block, so that whatever was sent before a crash may be sent again
    after it.
    """

    step: SettlementStep
    first: Natural
    last: Natural
    nonce: Natural
    attempts: tuple[NotEmpty, ...]
    """The raw transactions, the one with the highest fee last."""

    @classmethod
    def open(cls, step: SettlementStep, first: int, last: int, outgoing: SignedTransaction) -> Self:
        """Return the entry for a transaction that is about to be sent."""
        return cls(step, first, last, outgoing.nonce, (outgoing.raw,))

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Read what `encode` writes."""
        try:
            return msgspec.msgpack.decode(data, type=cls)
        except msgspec.DecodeError as error:
            raise MalformedValue(f"the settlement journal is not readable: {error}") from error

    def encode(self) -> bytes:
        """Return the entry in MessagePack."""
        return msgspec.msgpack.encode(self)

    def with_attempt(self, outgoing: SignedTransaction) -> Self:
        """Return the entry with a transaction that is to replace the others."""
        return msgspec.structs.replace(self, attempts=(*self.attempts, outgoing.raw))

    def outgoing(self) -> list[SignedTransaction]:
        """Return every transaction, the one with the highest fee first."""
        return [
            SignedTransaction(self.nonce, decode(raw).hash, raw) for raw in reversed(self.attempts)
        ]

    def is_due(self, totals: BatchTotals) -> bool:
        """Say whether L1 has what the step builds on, and not the step itself."""
        if self.step is SettlementStep.PROVE and totals.committed < self.last:
            return False
        if self.step is SettlementStep.EXECUTE and totals.verified < self.last:
            return False
        return done(totals, self.step) == self.first - 1

    def __str__(self) -> str:
        return named(self.step, self.first, self.last)


def done(totals: BatchTotals, step: SettlementStep) -> int:
    """Return the last batch that L1 has done a step of."""
    return (totals.committed, totals.verified, totals.executed)[step]


def named(step: SettlementStep, first: int, last: int) -> str:
    """Return a step of some batches in words."""
    batches = f"batch {first}" if first == last else f"batches {first} to {last}"
    return f"{step.name.lower()} of {batches}"
