"""Batches of consecutive L2 blocks, and the steps of their settlement on L1."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple, Self

import msgspec

from entresol.errors import MalformedValue
from entresol.primitives.records import HashBytes, Natural, RecordPart
from entresol.primitives.values import Hash32


class DataScheme(IntEnum):
    """Where the data of a batch is, by the numbers of the ZK Stack."""

    NONE = 1
    """The operator alone has it."""
    CALLDATA = 3
    """In the call that commits the batch, and in an event of the contract."""


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
    data_scheme: DataScheme = DataScheme.NONE
    data_commitment: HashBytes = bytes(32)
    """The commitment to the published data; of batch 0, the hash of the published genesis."""
    data_size: Natural = 0
    """How many bytes are published."""
    hashed_from: Natural = 0
    """The first block of the chain, up to this batch, whose edits L1 has only by hash; 0 if it has all."""

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Decode what `encode` writes."""
        try:
            return msgspec.msgpack.decode(data, type=cls)
        except msgspec.DecodeError as error:
            raise MalformedValue(f"a batch is not readable: {error}") from error

    def encode(self) -> bytes:
        """Return the fields in MessagePack."""
        return msgspec.msgpack.encode(self)

    @property
    def has_messages(self) -> bool:
        """Whether it has messages to L1, and not only results of deposits, one log for each."""
        return self.logs > self.l1_transactions


class SettlementTransaction(NamedTuple):
    """The L1 transaction of a settlement step."""

    transaction: Hash32
    block: int
    timestamp: int
    gas_used: int | None = None
    """The gas that L1 took for all of it, however many batches it settles; None if that was not recorded."""

    def is_at_place_of(self, other: SettlementTransaction) -> bool:
        """Return whether it is the same transaction in the same block, if gas is not known of both."""
        both = self.gas_used is not None and other.gas_used is not None
        return self[:3] == other[:3] and (not both or self.gas_used == other.gas_used)
