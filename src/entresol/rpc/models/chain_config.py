"""The configuration of a chain, as a geth genesis has it."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import UNSET, UnsetType

from entresol.rpc.jsonrpc.model import ResultModel, says


class BlobLimits(ResultModel, frozen=True, kw_only=True):
    """How many blobs a block has, and how their price moves."""

    target: Annotated[int, says("The number at which their price stays.")]
    max: Annotated[int, says("The most of them.")]
    base_fee_update_fraction: Annotated[int, says("The larger, the slower their price moves.")]


Since: TypeAlias = Annotated[
    int | UnsetType, says("The block or the time since which the fork is active: 0, if it is.")
]


class ChainConfigInfo(ResultModel, frozen=True, kw_only=True):
    """The `config` of a geth genesis; forks that the chain has not had are missing."""

    chain_id: Annotated[int, says("The chain id.")]
    homestead_block: Since = UNSET
    eip150_block: Since = UNSET
    eip155_block: Since = UNSET
    eip158_block: Since = UNSET
    byzantium_block: Since = UNSET
    constantinople_block: Since = UNSET
    petersburg_block: Since = UNSET
    istanbul_block: Since = UNSET
    muir_glacier_block: Since = UNSET
    berlin_block: Since = UNSET
    london_block: Since = UNSET
    arrow_glacier_block: Since = UNSET
    gray_glacier_block: Since = UNSET
    terminal_total_difficulty: Annotated[
        int | UnsetType, says("Since Paris: 0, because no block was mined.")
    ] = UNSET
    shanghai_time: Since = UNSET
    cancun_time: Since = UNSET
    prague_time: Since = UNSET
    osaka_time: Since = UNSET
    blob_schedule: Annotated[
        dict[str, BlobLimits] | UnsetType, says("Since Cancun: the limits of each fork.")
    ] = UNSET
