"""Transactions as clients read them, one model for each type."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from entresol.primitives.values import Address, Data, Hash32, Quantity
from entresol.rpc.models.model import ResultModel, says


class AccessListItem(ResultModel, frozen=True, kw_only=True):
    """An account and slots of it that a transaction announces."""

    address: Address
    storage_keys: list[Hash32]


class AuthorizationInfo(ResultModel, frozen=True, kw_only=True):
    """A signed authorization by which an account delegates to code."""

    chain_id: Quantity
    address: Annotated[Address, says("Whose code the signer takes.")]
    nonce: Quantity
    y_parity: Quantity
    r: Quantity
    s: Quantity


class TransactionBase(ResultModel, frozen=True, kw_only=True, tag_field="type"):
    """What transactions of all types have; where they are is null while they are pending."""

    hash: Hash32
    block_hash: Hash32 | None
    block_number: Quantity | None
    l1_batch_number: Annotated[Quantity | None, says("The batch, once it is sealed.")]
    transaction_index: Quantity | None
    l1_batch_tx_index: Annotated[
        Quantity | None, says("Its number in L2-to-L1 logs, once its batch is sealed.")
    ]
    block_timestamp: Quantity | None
    from_: Address
    to: Annotated[Address | None, says("Null if it creates a contract.")]
    value: Quantity
    gas: Annotated[Quantity, says("The gas limit.")]
    gas_price: Annotated[Quantity, says("What a unit of gas costs; while pending, at most.")]
    input: Data
    nonce: Quantity
    v: Quantity
    r: Quantity
    s: Quantity


class LegacyTransactionInfo(TransactionBase, frozen=True, kw_only=True, tag="0x0"):
    """A transaction of the first format."""

    chain_id: Annotated[Quantity | None, says("Null if the signature names none.")]


class TypedTransactionBase(TransactionBase, frozen=True, kw_only=True):
    """What all later formats have."""

    chain_id: Quantity
    y_parity: Quantity


class AccessListTransactionInfo(TypedTransactionBase, frozen=True, kw_only=True, tag="0x1"):
    """A transaction with an access list and a gas price."""

    access_list: list[AccessListItem]


class FeeMarketBase(TypedTransactionBase, frozen=True, kw_only=True):
    """What transactions with fee caps have."""

    max_fee_per_gas: Quantity
    max_priority_fee_per_gas: Quantity


class FeeMarketTransactionInfo(FeeMarketBase, frozen=True, kw_only=True, tag="0x2"):
    """A transaction with an access list and fee caps."""

    access_list: list[AccessListItem]


class BlobTransactionInfo(FeeMarketBase, frozen=True, kw_only=True, tag="0x3"):
    """A transaction that carries blobs, which are on L1 only."""

    access_list: list[AccessListItem]
    max_fee_per_blob_gas: Quantity
    blob_versioned_hashes: list[Hash32]


class SetCodeTransactionInfo(FeeMarketBase, frozen=True, kw_only=True, tag="0x4"):
    """A transaction by which accounts delegate to code."""

    access_list: list[AccessListItem]
    authorization_list: list[AuthorizationInfo]


class ZkTransactionInfo(FeeMarketBase, frozen=True, kw_only=True, tag="0x71"):
    """A transaction of the ZK Stack; a signature that is not 65 bytes long is shown as zeros."""


class PriorityTransactionInfo(FeeMarketBase, frozen=True, kw_only=True, tag="0xff"):
    """A transaction that was requested on L1; nobody signed it on L2, so its signature is zeros."""


class SystemTransactionInfo(FeeMarketBase, frozen=True, kw_only=True, tag="0x7d"):
    """A transaction of the node itself, which imports roots of L1; nobody signed it, so its signature is zeros.

    Its sender is 0x…8001, its nonce the salt of its encoding, and its gas costs nothing.
    """


TransactionInfo: TypeAlias = (
    LegacyTransactionInfo
    | AccessListTransactionInfo
    | FeeMarketTransactionInfo
    | BlobTransactionInfo
    | SetCodeTransactionInfo
    | ZkTransactionInfo
    | PriorityTransactionInfo
    | SystemTransactionInfo
)
"""A transaction, whose `type` says which members it has."""


class FilledTransactionInfo(ResultModel, frozen=True, kw_only=True):
    """A transaction as bytes and as an object."""

    raw: Data
    tx: TransactionInfo
