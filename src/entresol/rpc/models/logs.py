"""Logs of contracts, and logs from L2 to L1."""

from __future__ import annotations

from typing import Annotated

from entresol.primitives.values import Address, Data, Hash32, Quantity
from entresol.rpc.jsonrpc.model import ResultModel, says


class LogInfo(ResultModel, frozen=True, kw_only=True):
    """A log that a contract emitted, and where."""

    address: Annotated[Address, says("The contract that emitted it.")]
    topics: Annotated[list[Hash32], says("Up to four words, by which logs are found.")]
    data: Annotated[Data, says("What is no topic.")]
    block_hash: Annotated[Hash32, says("The hash of its block.")]
    block_number: Annotated[Quantity, says("The number of its block.")]
    l1_batch_number: Annotated[Quantity | None, says("The batch, once it is sealed.")]
    block_timestamp: Annotated[Quantity, says("The time of its block, in Unix seconds.")]
    transaction_hash: Annotated[Hash32, says("The hash of the transaction.")]
    transaction_index: Annotated[Quantity, says("Its position in the block.")]
    log_type: Annotated[None, says("A member of ZKsync Era, where it is null, too.")]
    removed: Annotated[bool, says("Whether its block was reverted.")]
    log_index: Annotated[Quantity, says("Its position in the block.")]
    transaction_log_index: Annotated[Quantity, says("Its position in the transaction.")]


class L2ToL1LogInfo(ResultModel, frozen=True, kw_only=True):
    """A message or a deposit's status, which can be proven on L1 once its batch is executed there."""

    block_hash: Annotated[Hash32, says("The hash of its block.")]
    block_number: Annotated[Quantity, says("The number of its block.")]
    l1_batch_number: Annotated[Quantity | None, says("The batch, once it is sealed.")]
    transaction_hash: Annotated[Hash32, says("The hash of the transaction.")]
    transaction_index: Annotated[Quantity, says("Its position in the block.")]
    tx_index_in_l1_batch: Annotated[
        Quantity | None, says("The transaction's number in the log, once its batch is sealed.")
    ]
    log_index: Annotated[Quantity, says("Its position among those of the block.")]
    transaction_log_index: Annotated[Quantity, says("Its position among those of the transaction.")]
    shard_id: Annotated[Quantity, says("The shard: there is one, 0.")]
    is_service: Annotated[bool, says("Whether the system itself sent it.")]
    sender: Annotated[Address, says("The contract that sent it.")]
    key: Annotated[Hash32, says("A word that its sender chose: for messages, their sender.")]
    value: Annotated[Hash32, says("A word that its sender chose: for messages, their keccak.")]
