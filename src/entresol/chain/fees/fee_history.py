"""What a block contributes to `eth_feeHistory`: base fee, gas used and tips."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.errors import InvalidPercentiles
from entresol.primitives.transactions import PriorityTransaction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.chain.fees.blob_fees import BlobFees
    from entresol.primitives.records import BlockRecord

MAX_BLOCKS: Final = 1_024
MAX_PERCENTILES: Final = 100
"""As many as geth allows."""


class BlockFees(NamedTuple):
    """The fees of one block; `tips` has the tip and the gas used of each transaction, by tip."""

    base_fee: int
    gas_used_ratio: float
    gas_used: int
    tips: list[tuple[int, int]]
    blob_base_fee: int
    blob_gas_used_ratio: float


def block_fees(record: BlockRecord, blob_fees: BlobFees) -> BlockFees:
    """Return the fees of a block."""
    header = record.header()
    return BlockFees(
        base_fee=header.base_fee_per_gas,
        # Blocks from before their gas limit covered every priority transaction may use more.
        gas_used_ratio=min(header.gas_used / max(header.gas_limit, 1), 1.0),
        gas_used=header.gas_used,
        tips=sorted(
            (_tip_of(record, index, header.base_fee_per_gas), result.gas_used)
            for index, result in enumerate(record.results)
        ),
        blob_base_fee=blob_fees.base_fee(header),
        blob_gas_used_ratio=blob_fees.used_ratio(header),
    )


def first_block(count: int, newest: int, genesis: int = 0) -> int:
    """Return the first of the `count` blocks up to `newest`, of which there are at least one and at most a limit."""
    return newest + 1 - min(max(count, 1), MAX_BLOCKS, newest + 1 - genesis)


def check_percentiles(percentiles: Sequence[float]) -> None:
    """Reject percentiles that are none, fall or are too many."""
    if len(percentiles) > MAX_PERCENTILES:
        raise InvalidPercentiles(f"at most {MAX_PERCENTILES} are allowed, got {len(percentiles)}")
    for before, percentile in zip((0.0, *percentiles), percentiles, strict=False):
        if not 0 <= percentile <= 100:
            raise InvalidPercentiles(f"each is from 0 to 100, got {percentile}")
        if percentile < before:
            raise InvalidPercentiles(f"they must not fall, got {percentile} after {before}")


def effective_tip(fee_cap: int, tip: int, base_fee: int) -> int:
    """Return the part of a gas price that goes to the block producer."""
    return max(min(tip, fee_cap - base_fee), 0)


def _tip_of(record: BlockRecord, index: int, base_fee: int) -> int:
    payload = record.transaction(index).payload
    if isinstance(payload, PriorityTransaction):
        return 0
    return effective_tip(payload.fee_cap, payload.tip, base_fee)
