"""Messages of a block to L1, those among them that are bundles, and what L1 needs to book them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Self

from entresol.errors import MalformedValue
from entresol.primitives import abi
from entresol.primitives.interop.bundles import INTEROP_CENTER
from entresol.primitives.l2_to_l1_logs import L1_MESSAGE_SENT, L1_MESSENGER, PACKED_SIZE
from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from entresol._native import Log
    from entresol.primitives.records import BlockRecord

MAX_BOOKED_LOGS: Final = 1_024
"""How many logs a batch has that L1 books; its contract rejects more."""
MAX_BOOKED_BYTES: Final = 120_000
"""How long its logs and bundles are together: nodes of L1 take no transaction above 128 KiB."""
_BUNDLE_OVERHEAD: Final = 96
"""An offset, a length and the padding of a bundle among others."""

_CENTER_WORD: Final = Hash32(bytes(12) + INTEROP_CENTER)
_SENDER_AND_KEY: Final = slice(4, 56)
_BUNDLE_KEY: Final = L1_MESSENGER + _CENTER_WORD
_SENDER: Final = slice(4, 24)


class MessageLoad(NamedTuple):
    """What the messages of a transaction, of a block or of a batch take in the transaction that books them."""

    logs: int = 0
    bundles: int = 0
    bundle_bytes: int = 0

    @classmethod
    def of(cls, logs: int, events: Iterable[Log]) -> Self:
        """Return that of so many logs to L1, and of the bundles among some events."""
        lengths = [len(it) for it in bundles_in(events)]
        return cls(logs, len(lengths), sum(lengths) + _BUNDLE_OVERHEAD * len(lengths))

    @classmethod
    def of_record(cls, record: BlockRecord) -> Self:
        """Return that of a block."""
        load = cls()
        for result in record.results:
            if result.l2_to_l1_logs:
                load = load.plus(cls.of(len(result.l2_to_l1_logs), result.logs))
        return load

    def plus(self, other: MessageLoad) -> Self:
        """Return both together."""
        return type(self)(
            self.logs + other.logs,
            self.bundles + other.bundles,
            self.bundle_bytes + other.bundle_bytes,
        )

    @property
    def size(self) -> int:
        """The bytes of logs and bundles."""
        return self.logs * PACKED_SIZE + self.bundle_bytes

    @property
    def is_bookable(self) -> bool:
        """Whether one transaction of L1 can book them; without bundles nothing has to be booked."""
        return not self.bundles or (self.logs <= MAX_BOOKED_LOGS and self.size <= MAX_BOOKED_BYTES)


def bundles_in(events: Iterable[Log]) -> Iterator[bytes]:
    """Yield the messages of the interop center among the events of a transaction, in order."""
    for address, topics, data in events:
        is_message = address == L1_MESSENGER and len(topics) == 3 and topics[0] == L1_MESSAGE_SENT
        if is_message and topics[1] == _CENTER_WORD:
            try:
                (message,) = abi.decode("(bytes)", data)
            except MalformedValue:
                # Only another code of the messenger, as developers may set it, has such events.
                message = b""
            yield bytes(message)


def has_bundles(packed_logs: bytes) -> bool:
    """Return whether one of the packed logs of a batch is of a bundle."""
    return any(it[_SENDER_AND_KEY] == _BUNDLE_KEY for it in _each(packed_logs))


def has_messages(packed_logs: bytes) -> bool:
    """Return whether one of the packed logs of a batch is of a message; others are results of deposits."""
    return any(it[_SENDER] == L1_MESSENGER for it in _each(packed_logs))


def _each(packed_logs: bytes) -> Iterator[bytes]:
    for start in range(0, len(packed_logs), PACKED_SIZE):
        yield packed_logs[start : start + PACKED_SIZE]
