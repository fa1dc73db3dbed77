"""Batches of consecutive L2 blocks, and the steps of their settlement on L1."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple, Self

import msgspec

from entresol.errors import MalformedValue
from entresol.primitives.records import HashBytes, Natural, RecordPart
from entresol.primitives.values import Hash32

VERSION: Final = 2
"""Of batches that import roots."""
VERSION_WITHOUT_ROOTS: Final = 1
"""Of all others, which every version reads."""

_ROOT_FIELDS: Final = 2


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
    interop_roots: Natural = 0
    """How many roots of L1 its blocks import."""
    dependency_hash: HashBytes = bytes(32)
    """The rolling hash of those roots; zero without any."""

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Decode what `encode` writes."""
        version = data[0] if data else None
        if version not in (VERSION_WITHOUT_ROOTS, VERSION):
            raise MalformedValue(
                f"a batch of version {VERSION_WITHOUT_ROOTS} or {VERSION} is expected, got {data[:1].hex()}"
            )
        try:
            batch = msgspec.msgpack.decode(memoryview(data)[1:], type=cls)
        except msgspec.DecodeError as error:
            raise MalformedValue(f"a batch is not readable: {error}") from error
        if batch.version != version:
            raise MalformedValue(f"a batch of version {version} with {batch.interop_roots} roots")
        return batch

    def encode(self) -> bytes:
        """Return the version, then the fields in MessagePack; those of roots only if there are any."""
        fields = msgspec.structs.astuple(self)
        if self.version == VERSION_WITHOUT_ROOTS:
            fields = fields[:-_ROOT_FIELDS]
        return bytes([self.version]) + msgspec.msgpack.encode(fields)

    @property
    def has_messages(self) -> bool:
        """Whether it has messages to L1, and not only results of deposits, one log for each."""
        return self.logs > self.l1_transactions

    @property
    def version(self) -> int:
        """The version of its encoding."""
        return VERSION if self.interop_roots else VERSION_WITHOUT_ROOTS


class SettlementTransaction(NamedTuple):
    """The L1 transaction of a settlement step."""

    transaction: Hash32
    block: int
    timestamp: int
