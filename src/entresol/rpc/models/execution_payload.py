"""Execution payloads, as consensus clients take blocks: the result of `testing_buildBlockV1`."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, UnsetType

from entresol.primitives.values import Address, Data, Hash32, Quantity
from entresol.rpc.jsonrpc.model import ResultModel, says


class ExecutionPayload(ResultModel, frozen=True, kw_only=True):
    """A block with its transactions; the members of a fork are missing on a chain whose headers are without them."""

    parent_hash: Annotated[Hash32, says("The hash of the block before it.")]
    fee_recipient: Annotated[Address, says("Who gets the fees.")]
    state_root: Annotated[Hash32, says("The root of the state after it.")]
    receipts_root: Annotated[Hash32, says("The root of the trie of its receipts.")]
    logs_bloom: Annotated[Data, says("The Bloom filter of its logs.")]
    prev_randao: Annotated[Hash32, says("Its PREVRANDAO.")]
    block_number: Annotated[Quantity, says("Its number.")]
    gas_limit: Annotated[Quantity, says("Its gas limit.")]
    gas_used: Annotated[Quantity, says("The gas of its transactions.")]
    timestamp: Annotated[Quantity, says("Its time, in seconds since 1970.")]
    extra_data: Annotated[Data, says("Bytes that its producer chose.")]
    base_fee_per_gas: Annotated[Quantity, says("The base fee.")]
    block_hash: Annotated[Hash32, says("Its hash.")]
    transactions: Annotated[list[Data], says("Its transactions, without blobs.")]
    withdrawals: Annotated[list[Data] | UnsetType, says("Always empty.")] = UNSET
    blob_gas_used: Annotated[Quantity | UnsetType, says("The blob gas that it uses.")] = UNSET
    excess_blob_gas: Annotated[
        Quantity | UnsetType, says("What blob gas was used beyond the target.")
    ] = UNSET


class BlobsBundle(ResultModel, frozen=True, kw_only=True):
    """The blobs of a payload's transactions."""

    commitments: Annotated[list[Data], says("A commitment to each blob.")]
    proofs: Annotated[list[Data], says("The proofs of the blobs, or of their cells.")]
    blobs: Annotated[list[Data], says("The blobs.")]


class BuiltPayload(ResultModel, frozen=True, kw_only=True):
    """A block that was built and not sealed."""

    execution_payload: Annotated[ExecutionPayload, says("The block.")]
    block_value: Annotated[Quantity, says("The priority fees of its transactions.")]
    blobs_bundle: Annotated[BlobsBundle, says("The blobs of its transactions.")]
    should_override_builder: Annotated[bool, says("Always false.")]
    execution_requests: Annotated[
        list[Data] | UnsetType, says("By type (EIP-7685); missing before Prague and on an L2.")
    ] = UNSET
