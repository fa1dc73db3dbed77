"""Receipts."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, UnsetType

from entresol.primitives.values import Address, Bloom, Hash32, Quantity
from entresol.rpc.jsonrpc.model import ResultModel, says
from entresol.rpc.models.logs import L2ToL1LogInfo, LogInfo


class ReceiptBase(ResultModel, frozen=True, kw_only=True):
    """A receipt, but for its logs."""

    transaction_hash: Annotated[Hash32, says("The hash of the transaction.")]
    type: Annotated[Quantity, says("The type of the transaction.")]
    transaction_index: Annotated[Quantity, says("Its position in the block.")]
    block_hash: Annotated[Hash32, says("The hash of its block.")]
    block_number: Annotated[Quantity, says("The number of its block.")]
    l1_batch_number: Annotated[Quantity | None, says("The batch, once it is sealed.")]
    l1_batch_tx_index: Annotated[
        Quantity | None, says("Its number in L2-to-L1 logs, once its batch is sealed.")
    ]
    status: Annotated[Quantity, says("1 if it succeeded, 0 if it failed.")]
    from_: Annotated[Address, says("The sender.")]
    to: Annotated[Address | None, says("Null if it created a contract.")]
    contract_address: Annotated[
        Address | None, says("The contract that it created, also if that failed.")
    ]
    gas_used: Annotated[Quantity, says("The gas that it used.")]
    cumulative_gas_used: Annotated[Quantity, says("By the block up to and with it.")]
    effective_gas_price: Annotated[Quantity, says("What a unit of gas cost.")]
    blob_gas_price: Annotated[Quantity | UnsetType, says("On L1 only.")] = UNSET
    blob_gas_used: Annotated[Quantity | UnsetType, says("If it carried blobs.")] = UNSET
    l2_to_l1_logs: Annotated[list[L2ToL1LogInfo], says("The logs that it sent to L1.")]


class ReceiptInfo(ReceiptBase, frozen=True, kw_only=True):
    """What became of a transaction in a block."""

    logs: Annotated[list[LogInfo], says("The logs that it emitted.")]
    logs_bloom: Annotated[Bloom, says("The Bloom filter of its logs.")]
