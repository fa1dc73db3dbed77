"""Receipts."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, UnsetType

from entresol.primitives.values import Address, Bloom, Hash32, Quantity
from entresol.rpc.models.logs import L2ToL1LogInfo, LogInfo
from entresol.rpc.models.model import ResultModel, says


class ReceiptBase(ResultModel, frozen=True, kw_only=True):
    """A receipt, but for its logs."""

    transaction_hash: Hash32
    type: Quantity
    transaction_index: Quantity
    block_hash: Hash32
    block_number: Quantity
    l1_batch_number: Annotated[Quantity | None, says("The batch, once it is sealed.")]
    l1_batch_tx_index: Annotated[
        Quantity | None, says("Its number in L2-to-L1 logs, once its batch is sealed.")
    ]
    status: Annotated[Quantity, says("1 if it succeeded, 0 if it failed.")]
    from_: Address
    to: Annotated[Address | None, says("Null if it created a contract.")]
    contract_address: Annotated[
        Address | None, says("The contract that it created, also if that failed.")
    ]
    gas_used: Quantity
    cumulative_gas_used: Annotated[Quantity, says("By the block up to and with it.")]
    effective_gas_price: Quantity
    blob_gas_price: Annotated[Quantity | UnsetType, says("On L1 only.")] = UNSET
    blob_gas_used: Annotated[Quantity | UnsetType, says("If it carried blobs.")] = UNSET
    l2_to_l1_logs: list[L2ToL1LogInfo]


class ReceiptInfo(ReceiptBase, frozen=True, kw_only=True):
    """What became of a transaction in a block."""

    logs: list[LogInfo]
    logs_bloom: Bloom
