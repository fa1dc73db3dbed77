"""Receipt and log objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol import _native
from entresol._native import ReceiptRenderer, keccak256, log_json
from entresol.chain.logs import LocatedLog
from entresol.errors import MalformedValue
from entresol.primitives.records import LAYOUT, BlockRecord, TransactionResult
from entresol.primitives.transactions import Transaction
from entresol.primitives.transactions.system import UNSIGNED_TYPES
from entresol.primitives.values import Address
from entresol.rpc.render.transactions import BatchInfo, BlockInclusion, effective_gas_price

if TYPE_CHECKING:
    from entresol._native import Rules, TransactionFacts

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
    place = None if batch is None else (batch.number, batch.first_tx_number)
    text = _RENDERER.render(stored, index, place, blobs, detached=detached)
    if text is None:
        # Python alone decodes what nobody signs, and says what is wrong with a record.
        known = _facts_of(BlockRecord.decode(stored))
        text = _RENDERER.render(stored, index, place, blobs, known, detached=detached)
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
    """Return what a receipt says of a transaction."""
    payload = transaction.payload
    price = effective_gas_price(payload, base_fee)
    return transaction.hash, payload.type, payload.to, payload.nonce, price, payload.data[:4]
