"""Headers and blocks, sealed, pending and simulated."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, UnsetType

from entresol.primitives.values import Address, Bloom, Data, Hash32, Nonce8, Quantity
from entresol.rpc.jsonrpc.model import HashText, ResultModel, says
from entresol.rpc.models.logs import LogInfo
from entresol.rpc.models.transactions import TransactionInfo


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
