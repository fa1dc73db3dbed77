"""Events of a producer's chain on their way to the subscribers of a replica.

A replica that compared heads would miss a block that is sealed and reverted between two looks. So each event is sent,
with the records of its blocks: the store may not have them any more.
"""

from __future__ import annotations

from typing import Final, Protocol

import msgspec

from entresol._native import keccak256
from entresol.chain.events import BlockSealed, BlocksReverted, ChainEvents, TransactionPending
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.records import BlockRecord
from entresol.primitives.transactions import Transaction, load
from entresol.primitives.values import Address, Hash32
from entresol.storage.read_cache import memory_of_record

MAX_RECORDS: Final = 256
"""Of how many blocks the records are remembered until subscribers are notified, which is in the next turn."""

_encode: Final = msgspec.msgpack.Encoder().encode
_decode_reverted: Final = msgspec.msgpack.Decoder(tuple[int, tuple[bytes, ...]]).decode


class Records(Protocol):
    """Block records by number."""

    def get_record(self, number: int) -> BlockRecord | None:
        """Return the record of a block."""


class ShippedEvents:
    """The events of a producer's chain as a replica receives them, and the records of their blocks.

    Remembers: the last records. Persists: nothing. Assumes: one event loop, and events in their order. Fails: never.
    """

    def __init__(self, records: Records) -> None:
        self.events = ChainEvents()
        self._sealed: BoundedMap[int, BlockRecord] = BoundedMap(MAX_RECORDS)
        self._records = records

    def get_record(self, number: int) -> BlockRecord | None:
        """Return the record of a block that was sealed last with this number, even if it is reverted since."""
        record = self._sealed.get(number)
        return self._records.get_record(number) if record is None else record

    def on_sealed(self, payload: bytes) -> None:
        """Publish a block by its encoded record."""
        record = BlockRecord.decode(payload)
        header = record.header()
        self._sealed.put(header.number, record)
        self.events.publish(
            BlockSealed(header.number, Hash32(keccak256(record.header_rlp)), header)
        )

    def on_reverted(self, payload: bytes) -> None:
        """Publish a revert, as `encode_reverted` encodes it."""
        head, records = _decode_reverted(payload)
        reverted = tuple(map(BlockRecord.decode, records))
        self.events.publish(BlocksReverted(reverted, head, sum(map(memory_of_record, reverted))))

    def on_transaction(self, payload: bytes) -> None:
        """Publish a pending transaction, as `encode_pending` encodes it."""
        sender, raw = payload[: Address.size], payload[Address.size :]
        self.events.publish(TransactionPending(load(raw, Address(sender))))


def encode_pending(transaction: Transaction) -> bytes:
    """Return the bytes that `ShippedEvents.on_transaction` reads; no sender is recovered again, and some have no key."""
    return bytes(transaction.sender) + transaction.raw


def encode_reverted(event: BlocksReverted) -> bytes:
    """Return the bytes that `ShippedEvents.on_reverted` reads."""
    return _encode((event.head, [record.encode() for record in event.records]))
