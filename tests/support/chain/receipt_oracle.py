"""Receipts and logs as the node wrote them in Python: what those of the crate are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from entresol._native import keccak256
from entresol.chain.logs import LocatedLog
from entresol.primitives.l2_to_l1_logs import L2ToL1Log
from entresol.primitives.receipts import Log
from entresol.primitives.records import BlockRecord, TransactionResult, l2_to_l1_logs_of, logs_of
from entresol.primitives.transactions import BlobTransaction, Payload, Transaction
from entresol.primitives.values import Bloom, create_address
from entresol.rpc.render.chain_json import (
    CONTRACT_DEPLOYED,
    CONTRACT_DEPLOYER,
    DEPLOYMENTS,
    BatchInfo,
    BlockInclusion,
    effective_gas_price,
)
from entresol.rpc.render.hex import array, data, quantity

_NO_BLOOM: Final = Bloom.zero().hex()


def bloom_of(logs: Iterable[Log]) -> Bloom:
    """Return the bloom filter of the addresses and topics of `logs`."""
    bits = 0
    for log in logs:
        for value in (log.address, *log.topics):
            digest = keccak256(value)
            for start in (0, 2, 4):
                bits |= 1 << (int.from_bytes(digest[start : start + 2]) & 0x7FF)
    return Bloom(bits.to_bytes(Bloom.size))


def located_log_json(log: LocatedLog, batch: BatchInfo | None) -> str:
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
) -> str:
    """Return the members that the logs of one transaction share."""
    return (
        f'{inclusion.fields},"blockTimestamp":"{hex(inclusion.timestamp)}",'
        f'"transactionHash":"0x{transaction_hash.hex()}",'
        f'"transactionIndex":"{hex(transaction_index)}","logType":null,'
        f'"removed":{"true" if removed else "false"}'
    )


def log_json(
    log: tuple[bytes, tuple[bytes, ...], bytes], context: str, index: int, within: int
) -> str:
    """Return a log by its address, topics and data, its context, and its indexes in block and transaction."""
    address, topics, content = log
    listed = ",".join([f'"0x{topic.hex()}"' for topic in topics])
    return (
        f'{{"address":"0x{address.hex()}","topics":[{listed}],"data":"0x{content.hex()}",'
        f'{context},"logIndex":"{hex(index)}","transactionLogIndex":"{hex(within)}"}}'
    )


def l2_to_l1_logs_json(
    messages: Iterable[L2ToL1Log],
    inclusion: BlockInclusion,
    transaction: tuple[bytes, int],
    first_index: int,
) -> str:
    """Return the L2-to-L1 logs of a transaction, given by its hash and index."""
    transaction_hash, transaction_index = transaction
    context = (
        f'{inclusion.fields},"transactionHash":"0x{transaction_hash.hex()}",'
        f'"transactionIndex":"{hex(transaction_index)}",'
        f'"txIndexInL1Batch":{quantity(inclusion.tx_number(transaction_index))}'
    )
    return array(
        f'{{{context},"logIndex":"{hex(first_index + within)}","transactionLogIndex":"{hex(within)}",'
        f'"shardId":"{hex(it.shard_id)}","isService":{"true" if it.is_service else "false"},'
        f'"sender":"0x{it.sender.hex()}","key":"0x{it.key.hex()}","value":"0x{it.value.hex()}"}}'
        for within, it in enumerate(messages)
    )


class CumulativeTotals:
    """The gas and logs of the transactions of a block before the next one."""

    __slots__ = ("gas_used", "logs", "messages")

    def __init__(self) -> None:
        self.gas_used = 0
        self.logs = 0
        self.messages = 0

    def add(self, result: TransactionResult) -> None:
        """Add the result of a transaction."""
        self.gas_used += result.gas_used
        self.logs += len(result.logs)
        self.messages += len(result.l2_to_l1_logs)


def receipts_of(
    record: BlockRecord, inclusion: BlockInclusion, blob_base_fee: int | None = None
) -> Iterator[str]:
    """Yield the receipts of a block."""
    before = CumulativeTotals()
    for index, result in enumerate(record.results):
        transaction = record.transaction(index)
        yield receipt_json(transaction, result, inclusion, index, before, blob_base_fee)
        before.add(result)


def receipt_json(
    transaction: Transaction,
    result: TransactionResult,
    inclusion: BlockInclusion,
    index: int,
    before: CumulativeTotals,
    blob_base_fee: int | None,
) -> str:
    """Return the receipt of `transaction`; `before` is what the block's earlier ones add up to."""
    payload, tx_hash = transaction.payload, transaction.hash
    bloom = bloom_of(logs_of(result)).hex() if result.logs else _NO_BLOOM
    return (
        f'{{"transactionHash":"0x{tx_hash.hex()}","type":"{hex(payload.type)}",'
        f'"transactionIndex":"{hex(index)}",{inclusion.fields},'
        f'"l1BatchTxIndex":{quantity(inclusion.tx_number(index))},'
        f'"status":"{hex(result.succeeded)}",'
        f'"from":"0x{transaction.sender.hex()}","to":{data(payload.to)},'
        f'"contractAddress":{data(created_contract(transaction, result))},'
        f'"gasUsed":"{hex(result.gas_used)}",'
        f'"cumulativeGasUsed":"{hex(before.gas_used + result.gas_used)}",'
        f'"effectiveGasPrice":"{hex(effective_gas_price(payload, inclusion.base_fee))}",'
        f"{_blob_fields(payload, blob_base_fee)}"
        f'"logs":{_logs(result, inclusion, tx_hash, index, before.logs)},"logsBloom":"0x{bloom}",'
        f'"l2ToL1Logs":{_messages(result, inclusion, tx_hash, index, before.messages)}}}'
    )


def _blob_fields(payload: Payload, blob_base_fee: int | None) -> str:
    """Return the price of blob gas, which every receipt of an L1 has as in anvil, and what a blob transaction used."""
    if blob_base_fee is None:
        return ""
    price = f'"blobGasPrice":"{hex(blob_base_fee)}",'
    if isinstance(payload, BlobTransaction):
        return f'{price}"blobGasUsed":"{hex(payload.blob_gas)}",'
    return price


def created_contract(transaction: Transaction, result: TransactionResult) -> bytes | None:
    """Return the address of the contract that a transaction creates, also if it failed.

    A call of the contract deployer creates the one that it reports for the sender: contracts that a constructor
    creates are reported too, but for another deployer.
    """
    payload = transaction.payload
    if payload.to is None:
        return create_address(transaction.sender, payload.nonce)
    if payload.to != CONTRACT_DEPLOYER or payload.data[:4] not in DEPLOYMENTS:
        return None
    reported = CONTRACT_DEPLOYED, transaction.sender.rjust(32, b"\0")
    for address, topics, _ in result.logs:
        if address == CONTRACT_DEPLOYER and topics[:2] == reported and len(topics) == 4:
            return topics[3][12:]
    return None


def _logs(
    result: TransactionResult, inclusion: BlockInclusion, tx_hash: bytes, index: int, first: int
) -> str:
    if not result.logs:
        return "[]"
    context = log_context(inclusion, tx_hash, index)
    texts = (log_json(it, context, first + n, n) for n, it in enumerate(result.logs))
    return f"[{','.join(texts)}]"


def _messages(
    result: TransactionResult, inclusion: BlockInclusion, tx_hash: bytes, index: int, first: int
) -> str:
    if not result.l2_to_l1_logs:
        return "[]"
    return l2_to_l1_logs_json(l2_to_l1_logs_of(result), inclusion, (tx_hash, index), first)
