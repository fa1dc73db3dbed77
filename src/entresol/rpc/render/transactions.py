"""Transaction objects of every type, pending or in a block."""

from __future__ import annotations

from typing import Protocol

import msgspec

from entresol import _native
from entresol.primitives.headers import Header
from entresol.primitives.transactions import (
    Payload,
    PriorityTransaction,
    Transaction,
    ZkTransaction,
)


class BatchInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The batch of a block."""

    number: int
    timestamp: int
    first_tx_number: int
    """The number of the block's first transaction in L2-to-L1 logs: 0, except in batches of earlier versions."""


class BatchReader(Protocol):
    """Sealed batches by block."""

    def batch_of(self, block: int) -> BatchInfo | None:
        """Return the batch of a block, once it is sealed."""

    def last_block(self) -> int | None:
        """Return the last block that is in a sealed batch."""


class NoBatches:
    """The batches of a chain that does not settle: none."""

    def batch_of(self, block: int) -> BatchInfo | None:  # noqa: ARG002 - the interface has it
        """Return none."""
        return None

    def last_block(self) -> int | None:
        """Return none."""
        return None


class BlockInclusion:
    """A sealed block and its batch, as transactions, receipts and logs name it.

    `fields` are the JSON members that they share, written once for a block.
    """

    __slots__ = ("base_fee", "batch", "fields", "hash", "number", "timestamp")

    def __init__(
        self,
        number: int,
        block_hash: bytes,
        timestamp: int,
        base_fee: int,
        batch: BatchInfo | None,
    ) -> None:
        self.number = number
        self.hash = block_hash
        self.timestamp = timestamp
        self.base_fee = base_fee
        self.batch = batch
        batch_number = None if batch is None else batch.number
        self.fields = _native.inclusion_json(block_hash, number, batch_number)

    @classmethod
    def of(cls, header: Header, block_hash: bytes, batch: BatchInfo | None) -> BlockInclusion:
        """Return the inclusion in the block with this header."""
        return cls(header.number, block_hash, header.timestamp, header.base_fee_per_gas, batch)

    def tx_number(self, index: int) -> int | None:
        """Return the number that L2-to-L1 logs have for the transaction at `index` in the block, once it has a batch."""
        return None if self.batch is None else self.batch.first_tx_number + index


def effective_gas_price(payload: Payload, base_fee: int) -> int:
    """Return the effective gas price in a block with this base fee."""
    if isinstance(payload, PriorityTransaction):
        return payload.max_fee_per_gas
    return min(payload.fee_cap, base_fee + payload.tip)


def priority_fee(payload: Payload) -> int:
    """Return the priority fee that a transaction offers, even if its type never pays one."""
    if isinstance(payload, ZkTransaction):
        return payload.max_priority_fee_per_gas
    return payload.tip


def transaction_json(
    transaction: Transaction, chain_id: int, inclusion: BlockInclusion | None = None, index: int = 0
) -> str:
    """Return a transaction of any type, which the crate renders; without an inclusion it is pending."""
    location = None
    if inclusion is not None:
        number = inclusion.tx_number(index)
        location = inclusion.fields, index, number, inclusion.timestamp, inclusion.base_fee
    return _native.transaction_json(transaction, chain_id, location)
