"""Log objects: event logs, and L2-to-L1 logs."""

from __future__ import annotations

from collections.abc import Iterable

from entresol.chain.logs import LocatedLog
from entresol.primitives.l2_to_l1_logs import L2ToL1Log
from entresol.rpc.render.hex import array, quantity
from entresol.rpc.render.inclusion import BatchInfo, BlockInclusion


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
