"""The settlement transaction that is under way, written down before it is sent."""

from __future__ import annotations

from typing import Self

import msgspec

from entresol.errors import MalformedValue
from entresol.l1.operator import Outgoing
from entresol.primitives.transactions import decode
from entresol.storage.batches import Step
from entresol.storage.records import Natural, NotEmpty, Part


class Journal(Part, frozen=True):
    """A step of some batches, and every transaction that was signed for it, all with one nonce.

    Only one of them can ever be in a block, so that whatever was sent before a crash may be sent again
    after it.
    """

    step: Step
    first: Natural
    last: Natural
    nonce: Natural
    attempts: tuple[NotEmpty, ...]
    """The raw transactions, the one with the highest fee last."""

    @classmethod
    def open(cls, step: Step, first: int, last: int, outgoing: Outgoing) -> Self:
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

    def with_attempt(self, outgoing: Outgoing) -> Self:
        """Return the entry with a transaction that is to replace the others."""
        return msgspec.structs.replace(self, attempts=(*self.attempts, outgoing.raw))

    def outgoing(self) -> list[Outgoing]:
        """Return every transaction, the one with the highest fee first."""
        return [Outgoing(self.nonce, decode(raw).hash, raw) for raw in reversed(self.attempts)]
