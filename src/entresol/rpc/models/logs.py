"""Logs of contracts, and logs from L2 to L1."""

from __future__ import annotations

from typing import Annotated

from entresol.primitives.values import Address, Data, Hash32, Quantity
from entresol.rpc.models.model import ResultModel, says


class LogInfo(ResultModel, frozen=True, kw_only=True):
    """A log that a contract emitted, and where."""

    address: Address
    topics: list[Hash32]
    data: Data
    block_hash: Hash32
    block_number: Quantity
    l1_batch_number: Annotated[Quantity | None, says("The batch, once it is sealed.")]
    block_timestamp: Quantity
    transaction_hash: Hash32
    transaction_index: Quantity
    log_type: Annotated[None, says("A member of ZKsync Era, where it is null, too.")]
    removed: Annotated[bool, says("Whether its block was reverted.")]
    log_index: Annotated[Quantity, says("Its position in the block.")]
    transaction_log_index: Annotated[Quantity, says("Its position in the transaction.")]


class L2ToL1LogInfo(ResultModel, frozen=True, kw_only=True):
    """A message or a deposit's status, which can be proven on L1 once its batch is executed there."""

    block_hash: Hash32
    block_number: Quantity
    l1_batch_number: Annotated[Quantity | None, says("The batch, once it is sealed.")]
    transaction_hash: Hash32
    transaction_index: Quantity
    tx_index_in_l1_batch: Annotated[
        Quantity | None, says("The transaction's number in the log, once its batch is sealed.")
    ]
    log_index: Annotated[Quantity, says("Its position among those of the block.")]
    transaction_log_index: Annotated[Quantity, says("Its position among those of the transaction.")]
    shard_id: Quantity
    is_service: bool
    sender: Address
    key: Hash32
    value: Hash32
