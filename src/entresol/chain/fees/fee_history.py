"""`eth_feeHistory`: base fees, gas used and tips of past blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from entresol.errors import InvalidPercentiles
from entresol.primitives.transactions import PriorityTransaction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.chain.fees.blob_fees import BlobFees
    from entresol.primitives.headers import Header
    from entresol.primitives.records import BlockRecord
    from entresol.storage.readers import BlockReader

MAX_BLOCKS: Final = 1_024
MAX_PERCENTILES: Final = 100
"""As many as geth allows."""


class FeeHistory(msgspec.Struct, frozen=True, kw_only=True):
    """The fees of consecutive blocks; `base_fees` has one more, of the block after them."""

    oldest: int
    base_fees: tuple[int, ...]
    gas_used_ratios: tuple[float, ...]
    rewards: tuple[tuple[int, ...], ...]


def fee_history(
    blocks: BlockReader,
    next_base_fee: int,
    count: int,
    newest: int,
    percentiles: Sequence[float] = (),
) -> FeeHistory:
    """Return the fees of `count` blocks up to `newest`, with tips at `percentiles` of gas used.

    `next_base_fee` is that of the block after the head.
    """
    _check_percentiles(percentiles)
    count = min(max(count, 1), MAX_BLOCKS, newest + 1)
    oldest = newest - count + 1
    records = [blocks.record(number) for number in range(oldest, newest + 1)]
    headers = [record.header() for record in records]
    return FeeHistory(
        oldest=oldest,
        base_fees=(
            *(header.base_fee_per_gas for header in headers),
            _next_fee(blocks, newest, next_base_fee),
        ),
        # Blocks from before their gas limit covered every priority transaction may use more.
        gas_used_ratios=tuple(
            min(header.gas_used / max(header.gas_limit, 1), 1.0) for header in headers
        ),
        rewards=tuple(
            _tips_at(percentiles, record, header)
            for record, header in zip(records, headers, strict=True)
        ),
    )


class BlobFeeHistory(msgspec.Struct, frozen=True):
    """The price and the use of blob gas in consecutive blocks; `base_fees` has one more, of the block after them."""

    base_fees: tuple[int, ...]
    used_ratios: tuple[float, ...]


def blob_fee_history(
    blocks: BlockReader, fees: BlobFees, next_base_fee: int, history: FeeHistory
) -> BlobFeeHistory:
    """Return the blob fees of the blocks of `history`; `next_base_fee` is that of the block after the head."""
    last = history.oldest + len(history.gas_used_ratios)
    headers = [blocks.header(number) for number in range(history.oldest, last)]
    following = blocks.get_record(last)
    after = next_base_fee if following is None else fees.base_fee(following.header())
    return BlobFeeHistory(
        (*map(fees.base_fee, headers), after), tuple(map(fees.used_ratio, headers))
    )


def effective_tip(fee_cap: int, tip: int, base_fee: int) -> int:
    """Return the part of a gas price that goes to the block producer."""
    return max(min(tip, fee_cap - base_fee), 0)


def _next_fee(blocks: BlockReader, newest: int, next_base_fee: int) -> int:
    following = blocks.get_record(newest + 1)
    return next_base_fee if following is None else following.header().base_fee_per_gas


def _tips_at(percentiles: Sequence[float], record: BlockRecord, header: Header) -> tuple[int, ...]:
    if not percentiles or not record.transactions:
        return (0,) * len(percentiles)
    tips = sorted(
        (_tip_of(record, index, header.base_fee_per_gas), result.gas_used)
        for index, result in enumerate(record.results)
    )
    found, passed = [], 0
    remaining = iter(tips)
    tip, gas = next(remaining)
    for percentile in percentiles:
        threshold = header.gas_used * percentile / 100
        while passed + gas < threshold and (following := next(remaining, None)) is not None:
            passed += gas
            tip, gas = following
        found.append(tip)
    return tuple(found)


def _tip_of(record: BlockRecord, index: int, base_fee: int) -> int:
    payload = record.transaction(index).payload
    if isinstance(payload, PriorityTransaction):
        return 0
    return effective_tip(payload.fee_cap, payload.tip, base_fee)


def _check_percentiles(percentiles: Sequence[float]) -> None:
    if len(percentiles) > MAX_PERCENTILES:
        raise InvalidPercentiles(f"at most {MAX_PERCENTILES} are allowed, got {len(percentiles)}")
    for before, percentile in zip((0.0, *percentiles), percentiles, strict=False):
        if not 0 <= percentile <= 100:
            raise InvalidPercentiles(f"each is from 0 to 100, got {percentile}")
        if percentile < before:
            raise InvalidPercentiles(f"they must not fall, got {percentile} after {before}")
