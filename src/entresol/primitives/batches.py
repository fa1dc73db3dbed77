"""Batches of consecutive L2 blocks, and the steps of their settlement on L1."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple, Self

import msgspec

from entresol.errors import MalformedValue
from entresol.primitives.records import HashBytes, Natural, RecordPart
from entresol.primitives.values import Hash32

VERSION: Final = 1

_VERSION_BYTE: Final = bytes([VERSION])


class SettlementStep(IntEnum):
    """A step of the settlement of a batch."""

    COMMIT = 0
    PROVE = 1
    EXECUTE = 2


class Batch(RecordPart, frozen=True):
    """Consecutive blocks that are settled together."""

    number: Natural
    first_block: Natural
    last_block: Natural
    first_timestamp: Natural
    last_timestamp: Natural
    transactions: Natural
    """The number of transactions, including those from L1."""
    l1_transactions: Natural
    first_priority_id: Natural
    """The id of the first priority transaction, or of the next one if the batch has none."""
    priority_hash: HashBytes
    """The rolling hash of the priority transactions."""
    priority_frontier: tuple[HashBytes, ...]
    """The frontier of the priority tree before this batch."""
    logs: Natural
    message_root: HashBytes
    state_root: HashBytes

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Decode what `encode` writes."""
        if data[:1] != _VERSION_BYTE:
            raise MalformedValue(f"a batch of version {VERSION} is expected, got {data[:1].hex()}")
        try:
            return msgspec.msgpack.decode(memoryview(data)[1:], type=cls)
        except msgspec.DecodeError as error:
            raise MalformedValue(f"a batch is not readable: {error}") from error

    def encode(self) -> bytes:
        """Return the version, then the fields in MessagePack."""
        return _VERSION_BYTE + msgspec.msgpack.encode(self)


class SettlementTransaction(NamedTuple):
    """The L1 transaction of a settlement step."""

    transaction: Hash32
    block: int
    timestamp: int
