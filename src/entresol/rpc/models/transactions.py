"""Transactions as clients read them, one model for each type."""

from __future__ import annotations

from typing import Annotated, ClassVar, TypeAlias

from entresol.primitives.values import Address, Data, Hash32, Quantity
from entresol.rpc.jsonrpc.model import ResultModel, says


class AccessListItem(ResultModel, frozen=True, kw_only=True):
    """An account and slots of it that a transaction announces."""

    address: Annotated[Address, says("The account.")]
    storage_keys: Annotated[list[Hash32], says("The slots of the account.")]


class AuthorizationInfo(ResultModel, frozen=True, kw_only=True):
    """A signed authorization by which an account delegates to code."""

    chain_id: Annotated[Quantity, says("The chain for which it holds; 0 for every chain.")]
    address: Annotated[Address, says("Whose code the signer takes.")]
    nonce: Annotated[Quantity, says("The nonce of the signer, for which it holds.")]
    y_parity: Annotated[Quantity, says("The part of the signature from which the signer is found.")]
    r: Annotated[Quantity, says("A part of the signature.")]
    s: Annotated[Quantity, says("A part of the signature.")]


class TransactionBase(ResultModel, frozen=True, kw_only=True, tag_field="type"):
    """What transactions of all types have; where they are is null while they are pending."""

    tag_meaning: ClassVar = "The type of the transaction."

    hash: Annotated[Hash32, says("The hash of the transaction.")]
    block_hash: Annotated[Hash32 | None, says("The hash of its block.")]
    block_number: Annotated[Quantity | None, says("The number of its block.")]
    l1_batch_number: Annotated[Quantity | None, says("The batch, once it is sealed.")]
    transaction_index: Annotated[Quantity | None, says("Its position in the block.")]
    l1_batch_tx_index: Annotated[
        Quantity | None, says("Its number in L2-to-L1 logs, once its batch is sealed.")
    ]
    block_timestamp: Annotated[Quantity | None, says("The time of its block, in Unix seconds.")]
    from_: Annotated[Address, says("The sender.")]
    to: Annotated[Address | None, says("Null if it creates a contract.")]
    value: Annotated[Quantity, says("The ether that it sends, in wei.")]
    gas: Annotated[Quantity, says("The gas limit.")]
    gas_price: Annotated[Quantity, says("What a unit of gas costs; while pending, at most.")]
    input: Annotated[Data, says("The call data, or the code that creates a contract.")]
    nonce: Annotated[Quantity, says("The number of transactions that the account sent before it.")]
    v: Annotated[Quantity, says("The part of the signature from which the signer is found.")]
    r: Annotated[Quantity, says("A part of the signature.")]
    s: Annotated[Quantity, says("A part of the signature.")]


class LegacyTransactionInfo(TransactionBase, frozen=True, kw_only=True, tag="0x0"):
    """A transaction of the first format."""

    chain_id: Annotated[Quantity | None, says("Null if the signature names none.")]


class TypedTransactionBase(TransactionBase, frozen=True, kw_only=True):
    """What all later formats have."""

    chain_id: Annotated[Quantity, says("The chain id.")]
    y_parity: Annotated[Quantity, says("The part of the signature from which the signer is found.")]


class AccessListTransactionInfo(TypedTransactionBase, frozen=True, kw_only=True, tag="0x1"):
    """A transaction with an access list and a gas price."""

    access_list: Annotated[list[AccessListItem], says("The accounts and slots that it announces.")]


class FeeMarketBase(TypedTransactionBase, frozen=True, kw_only=True):
    """What transactions with fee caps have."""

    max_fee_per_gas: Annotated[Quantity, says("The most that it pays for a unit of gas.")]
    max_priority_fee_per_gas: Annotated[Quantity, says("The most that it pays above the base fee.")]


class FeeMarketTransactionInfo(FeeMarketBase, frozen=True, kw_only=True, tag="0x2"):
    """A transaction with an access list and fee caps."""

    access_list: Annotated[list[AccessListItem], says("The accounts and slots that it announces.")]


class BlobTransactionInfo(FeeMarketBase, frozen=True, kw_only=True, tag="0x3"):
    """A transaction that carries blobs, which are on L1 only."""

    access_list: Annotated[list[AccessListItem], says("The accounts and slots that it announces.")]
    max_fee_per_blob_gas: Annotated[Quantity, says("The most that it pays for a unit of blob gas.")]
    blob_versioned_hashes: Annotated[list[Hash32], says("The hashes that name its blobs.")]


class SetCodeTransactionInfo(FeeMarketBase, frozen=True, kw_only=True, tag="0x4"):
    """A transaction by which accounts delegate to code."""

    access_list: Annotated[list[AccessListItem], says("The accounts and slots that it announces.")]
    authorization_list: Annotated[
        list[AuthorizationInfo], says("Signed authorizations by which accounts delegate to code.")
    ]


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

    raw: Annotated[Data, says("The transaction, in the encoding of its type.")]
    tx: Annotated[TransactionInfo, says("The transaction as an object.")]
