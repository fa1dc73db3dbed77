"""Blocks that a request sealed, with what their transactions returned."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import UNSET, UnsetType

from entresol.primitives.values import Data
from entresol.rpc.jsonrpc.model import says
from entresol.rpc.models.chain_objects import (
    AccessListTransactionInfo,
    BlobTransactionInfo,
    BlockSummary,
    FeeMarketTransactionInfo,
    LegacyTransactionInfo,
    PriorityTransactionInfo,
    SetCodeTransactionInfo,
    SystemTransactionInfo,
    ZkTransactionInfo,
)

Output: TypeAlias = Annotated[Data, says("What it returned, or reverted with.")]
RevertReason: TypeAlias = Annotated[str | UnsetType, says("Why it failed, if it did.")]


class MinedLegacyTransaction(LegacyTransactionInfo, frozen=True, kw_only=True, tag="0x0"):
    """A sealed transaction of type 0x0, with what it returned."""

    output: Output
    revert_reason: RevertReason = UNSET


class MinedAccessListTransaction(AccessListTransactionInfo, frozen=True, kw_only=True, tag="0x1"):
    """A sealed transaction of type 0x1, with what it returned."""

    output: Output
    revert_reason: RevertReason = UNSET


class MinedFeeMarketTransaction(FeeMarketTransactionInfo, frozen=True, kw_only=True, tag="0x2"):
    """A sealed transaction of type 0x2, with what it returned."""

    output: Output
    revert_reason: RevertReason = UNSET


class MinedBlobTransaction(BlobTransactionInfo, frozen=True, kw_only=True, tag="0x3"):
    """A sealed transaction of type 0x3, with what it returned."""

    output: Output
    revert_reason: RevertReason = UNSET


class MinedSetCodeTransaction(SetCodeTransactionInfo, frozen=True, kw_only=True, tag="0x4"):
    """A sealed transaction of type 0x4, with what it returned."""

    output: Output
    revert_reason: RevertReason = UNSET


class MinedZkTransaction(ZkTransactionInfo, frozen=True, kw_only=True, tag="0x71"):
    """A sealed transaction of type 0x71, with what it returned."""

    output: Output
    revert_reason: RevertReason = UNSET


class MinedPriorityTransaction(PriorityTransactionInfo, frozen=True, kw_only=True, tag="0xff"):
    """A sealed transaction of type 0xff, with what it returned."""

    output: Output
    revert_reason: RevertReason = UNSET


class MinedSystemTransaction(SystemTransactionInfo, frozen=True, kw_only=True, tag="0x7d"):
    """A sealed transaction of type 0x7d, with what it returned."""

    output: Output
    revert_reason: RevertReason = UNSET


MinedTransaction: TypeAlias = (
    MinedLegacyTransaction
    | MinedAccessListTransaction
    | MinedFeeMarketTransaction
    | MinedBlobTransaction
    | MinedSetCodeTransaction
    | MinedZkTransaction
    | MinedPriorityTransaction
    | MinedSystemTransaction
)


class MinedBlock(BlockSummary, frozen=True, kw_only=True):
    """A block that the request sealed."""

    transactions: Annotated[list[MinedTransaction], says("Whole, with what they returned.")]
