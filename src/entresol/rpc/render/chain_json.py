"""Blocks, transactions, receipts and logs as JSON; pending or in a block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from entresol import _native
from entresol._native import ReceiptRenderer, keccak256, log_json
from entresol.chain.logs import LocatedLog
from entresol.errors import MalformedValue
from entresol.primitives.headers import Header
from entresol.primitives.records import LAYOUT, BlockRecord, TransactionResult
from entresol.primitives.transactions import (
    Payload,
    PriorityTransaction,
    Transaction,
    ZkTransaction,
)
from entresol.primitives.transactions.system import UNSIGNED_TYPES
from entresol.primitives.values import Address
from entresol.rpc.render.hex import array

if TYPE_CHECKING:
    from entresol._native import Rules, TransactionFacts


class BatchInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The batch of a block."""

    number: int
    timestamp: int


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
        self, number: int, block_hash: bytes, timestamp: int, base_fee: int, batch: BatchInfo | None
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
        return None if self.batch is None else index


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


def header_json(header: Header, block_hash: bytes | None) -> bytes:
    """Return a header; that of the pending block has no hash."""
    return _native.header_json(header.encode(), block_hash)


def stored_header_json(stored: bytes) -> bytes:
    """Return the header of a stored record."""
    text = LAYOUT.header_json(stored)
    if text is None:
        # Reports what is wrong with the record, or with the header.
        BlockRecord.decode(stored).header()
        raise MalformedValue("a header is not readable")
    return text


def stored_block_json(stored: bytes, batch: BatchInfo | None) -> bytes:
    """Return the block of a stored record, with the hashes of its transactions."""
    text = LAYOUT.block_json(stored, _place(batch))
    if text is not None:
        return text
    record = BlockRecord.decode(stored)
    return block_json(record, record.hash(), batch, transaction_hashes(record))


def full_transactions(
    record: BlockRecord, chain_id: int, inclusion: BlockInclusion | None
) -> Iterator[str]:
    """Yield the transactions of a block, as JSON."""
    for index in range(len(record.transactions)):
        yield transaction_json(record.transaction(index), chain_id, inclusion, index)


def transaction_hashes(record: BlockRecord) -> Iterator[str]:
    """Yield the hashes of the transactions of a block, as JSON."""
    for index in range(len(record.transactions)):
        yield f'"{record.transaction_hash(index)}"'


def block_json(
    record: BlockRecord,
    block_hash: bytes | None,
    batch: BatchInfo | None,
    transactions: Iterable[str],
) -> bytes:
    """Return a block, of which the pending one has no hash yet; `transactions` are JSON already."""
    return _native.block_json(
        record.header_rlp,
        [raw for raw, _ in record.transactions],
        block_hash=block_hash,
        batch=_place(batch),
        transactions=array(transactions).encode(),
    )


def _place(batch: BatchInfo | None) -> tuple[int, int] | None:
    return None if batch is None else (batch.number, batch.timestamp)


CONTRACT_DEPLOYER: Final = Address(_native.CONTRACT_DEPLOYER)

CONTRACT_DEPLOYED: Final = keccak256(b"ContractDeployed(address,bytes32,address)")

DEPLOYMENTS: Final = frozenset(
    keccak256(signature)[:4]
    for signature in (
        b"create(bytes32,bytes32,bytes)",
        b"create2(bytes32,bytes32,bytes)",
        b"createAccount(bytes32,bytes32,bytes,uint8)",
        b"create2Account(bytes32,bytes32,bytes,uint8)",
    )
)

_RENDERER: Final = ReceiptRenderer(
    LAYOUT, deployer=CONTRACT_DEPLOYER, deployed=CONTRACT_DEPLOYED, selectors=list(DEPLOYMENTS)
)


def located_log_json(log: LocatedLog, batch: BatchInfo | None) -> bytes:
    """Return a log with its location."""
    inclusion = BlockInclusion(log.block_number, log.block_hash, log.block_timestamp, 0, batch)
    context = log_context(inclusion, log.transaction_hash, log.transaction_index)
    return log_json(
        (log.address, log.topics, log.data), context, log.index, log.index_in_transaction
    )


def log_context(
    inclusion: BlockInclusion,
    transaction_hash: bytes,
    transaction_index: int,
    *,
    removed: bool = False,
) -> bytes:
    """Return the members that the logs of one transaction share."""
    return _native.log_context(
        inclusion.fields, inclusion.timestamp, transaction_hash, transaction_index, removed=removed
    )


def receipts_json(
    stored: bytes,
    index: int | None,
    batch: BatchInfo | None,
    blobs: Rules | int,
    *,
    detached: bool = False,
) -> bytes:
    """Return the receipt at `index` of a stored record, or an array of all.

    `blobs` is what blob gas costs: a constant, or by the rules of a fork. With `detached`, other threads run meanwhile.
    """
    number = None if batch is None else batch.number
    text = _RENDERER.render(stored, index, number, blobs, detached=detached)
    if text is None:
        # Python alone decodes what nobody signs, and says what is wrong with a record.
        known = _facts_of(BlockRecord.decode(stored))
        text = _RENDERER.render(stored, index, number, blobs, known, detached=detached)
    if text is None:
        raise MalformedValue("a receipt is not readable")
    return text


def created_contract(transaction: Transaction, result: TransactionResult) -> bytes | None:
    """Return the address of the contract that a transaction creates, also if it failed."""
    return _RENDERER.created_contract(transaction.sender, _facts(transaction, 0), result.logs)


def _facts_of(record: BlockRecord) -> list[tuple[int, TransactionFacts]]:
    base_fee = record.header().base_fee_per_gas
    return [
        (index, _facts(record.transaction(index), base_fee))
        for index, (raw, _) in enumerate(record.transactions)
        if raw[0] in UNSIGNED_TYPES
    ]


def _facts(transaction: Transaction, base_fee: int) -> TransactionFacts:
    payload = transaction.payload
    price = effective_gas_price(payload, base_fee)
    return transaction.hash, payload.type, payload.to, payload.nonce, price, payload.data[:4]
