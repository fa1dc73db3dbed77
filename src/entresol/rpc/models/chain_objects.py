"""Blocks, transactions, receipts and logs as clients read them, and what subscribers are sent of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, TypeAlias

from msgspec import UNSET, UnsetType

from entresol.primitives.values import Address, Bloom, Data, Hash32, Nonce8, Quantity
from entresol.rpc.jsonrpc.model import Choice, HashText, ResultModel, says


class LogInfo(ResultModel, frozen=True, kw_only=True):
    """A log that a contract emitted, and where."""

    address: Annotated[Address, says("The contract that emitted it.")]
    topics: Annotated[list[Hash32], says("Up to four words, by which logs are found.")]
    data: Annotated[Data, says("The data beside the topics.")]
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
    """Members of transactions of all types; where they are is null while they are pending."""

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
    """Members of all later formats."""

    chain_id: Annotated[Quantity, says("The chain id.")]
    y_parity: Annotated[Quantity, says("The part of the signature from which the signer is found.")]


class AccessListTransactionInfo(TypedTransactionBase, frozen=True, kw_only=True, tag="0x1"):
    """A transaction with an access list and a gas price."""

    access_list: Annotated[list[AccessListItem], says("The accounts and slots that it announces.")]


class FeeMarketBase(TypedTransactionBase, frozen=True, kw_only=True):
    """Members of transactions with fee caps."""

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
    """The outcome of a transaction in a block."""

    logs: Annotated[list[LogInfo], says("The logs that it emitted.")]
    logs_bloom: Annotated[Bloom, says("The Bloom filter of its logs.")]


class HeaderInfo(ResultModel, frozen=True, kw_only=True):
    """A header; an L2 has the members of London, an L1 those of its fork."""

    number: Annotated[Quantity, says("The number of the block.")]
    hash: Annotated[Hash32 | None, says("Null for the pending block.")]
    parent_hash: Annotated[Hash32, says("The hash of the block before it.")]
    nonce: Annotated[Nonce8, says("0, because no block is mined.")]
    sha3_uncles: Annotated[Hash32, says("The hash of no ommers.")]
    logs_bloom: Annotated[Bloom, says("The Bloom filter of its logs.")]
    transactions_root: Annotated[Hash32, says("The root of the trie of its transactions.")]
    state_root: Annotated[Hash32, says("The root of the state after it.")]
    receipts_root: Annotated[Hash32, says("The root of the trie of its receipts.")]
    miner: Annotated[Address, says("Who receives the priority fees.")]
    difficulty: Annotated[Quantity, says("0, because no block is mined.")]
    extra_data: Annotated[Data, says("Bytes that its producer chose.")]
    gas_limit: Annotated[Quantity, says("The most gas that it may use.")]
    gas_used: Annotated[Quantity, says("The gas that its transactions used.")]
    timestamp: Annotated[Quantity, says("In seconds since 1970.")]
    mix_hash: Annotated[Hash32, says("What PREVRANDAO returns.")]
    base_fee_per_gas: Annotated[Quantity, says("The base fee.")]
    withdrawals: Annotated[list[Data] | UnsetType, says("Since Shanghai: none.")] = UNSET
    withdrawals_root: Annotated[Hash32 | UnsetType, says("Since Shanghai.")] = UNSET
    blob_gas_used: Annotated[Quantity | UnsetType, says("Since Cancun.")] = UNSET
    excess_blob_gas: Annotated[Quantity | UnsetType, says("Since Cancun.")] = UNSET
    parent_beacon_block_root: Annotated[Hash32 | UnsetType, says("Since Cancun.")] = UNSET
    requests_hash: Annotated[Hash32 | UnsetType, says("Since Prague.")] = UNSET


class BlockSummary(HeaderInfo, frozen=True, kw_only=True):
    """A block without its transactions."""

    total_difficulty: Annotated[Quantity, says("0, because no block is mined.")]
    size: Annotated[Quantity, says("Bytes of its RLP.")]
    uncles: Annotated[list[Hash32], says("None.")]
    seal_fields: Annotated[list[Data], says("None.")]
    l1_batch_number: Annotated[Quantity | None, says("The batch, once it is sealed.")]
    l1_batch_timestamp: Annotated[Quantity | None, says("That of the batch.")]


class BlockInfo(BlockSummary, frozen=True, kw_only=True):
    """A block: its header, its transactions, and its batch."""

    transactions: Annotated[
        list[HashText | TransactionInfo], says("Hashes, or whole if the request says so.")
    ]


class CallFailure(ResultModel, frozen=True, kw_only=True):
    """Why a simulated call failed."""

    code: Annotated[int, says("3 if it reverted, -32015 if it stopped otherwise.")]
    message: Annotated[str, says("What went wrong, in geth's words.")]
    data: Annotated[Data | UnsetType, says("What it reverted with.")] = UNSET


class SimulatedCall(ResultModel, frozen=True, kw_only=True):
    """The result of a simulated call."""

    status: Annotated[Quantity, says("1 if it succeeded, 0 if it failed.")]
    return_data: Annotated[Data, says("What it returned, or reverted with.")]
    gas_used: Annotated[Quantity, says("After refunds.")]
    max_used_gas: Annotated[Quantity, says("Before refunds.")]
    logs: Annotated[list[LogInfo], says("The logs that it emitted.")]
    error: Annotated[CallFailure | UnsetType, says("If it failed.")] = UNSET


class SimulatedBlockInfo(BlockInfo, frozen=True, kw_only=True):
    """A simulated block, and what its calls did."""

    calls: Annotated[list[SimulatedCall], says("What each call did.")]


class Notification(Choice):
    """The payload that a subscriber is sent; the kind of the subscription chooses it."""

    shapes: ClassVar[Mapping[str, Any]] = {
        "`newHeads`": HeaderInfo,
        "`logs`": LogInfo,
        "`newPendingTransactions`": HashText,
        "`newPendingTransactions` in full": TransactionInfo,
        "`syncing`": bool,
    }


class SubscriptionId(str):
    """The id of a subscription, which every notification of it has."""

    __slots__ = ()

    json_schema: ClassVar[dict[str, str]] = {
        "type": "string",
        "pattern": "^0x[1-9a-f][0-9a-f]{31}$",
    }
    notification: ClassVar[type[Choice]] = Notification

    @classmethod
    def parse(cls, value: object) -> SubscriptionId:
        """Take the text."""
        return cls(value)
