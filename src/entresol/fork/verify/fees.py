"""Fee histories by headers, and their rewards by transactions and receipts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from entresol.errors import Unprovable
from entresol.fork.verify.blocks import MAX_BODIES, ProvenBlocks
from entresol.fork.verify.body import ProvenBlock
from entresol.fork.verify.headers import HashedHeader
from entresol.fork.verify.receipts import ProvenReceipt

METHOD: Final = "eth_feeHistory"
_LOWEST: Final = "0x1"


async def proven_fees(
    blocks: ProvenBlocks, count: int, last: int, percentiles: Sequence[float], anchor: int
) -> dict[str, Any]:
    """Return the fees of `count` blocks up to `last`, which is at most the anchor.

    They end with the base fee of the next block, unless that is the fork's own: then they end before it.
    """
    first = max(last - count + 1, 0)
    following = min(last + 1, anchor)
    headers = await blocks.headers(METHOD, first, following)
    base_fees = [hex(header.quantity("baseFeePerGas")) for header in headers]
    headers = headers[: last - first + 1]
    history: dict[str, Any] = {
        "oldestBlock": hex(first),
        "baseFeePerGas": base_fees,
        "gasUsedRatio": [_ratio(header) for header in headers],
    }
    if not any(
        header.quantity("excessBlobGas") or header.quantity("blobGasUsed") for header in headers
    ):
        # Other prices follow from the schedule of the chain's blobs, which no header has.
        history["baseFeePerBlobGas"] = [_LOWEST] * (len(headers) + 1)
        history["blobGasUsedRatio"] = [0.0] * len(headers)
    history["reward"] = [[] for _ in headers]
    if percentiles:
        history["reward"] = await _rewards(blocks, headers, percentiles)
    return history


def rewards_of(
    block: ProvenBlock, receipts: Sequence[ProvenReceipt], percentiles: Sequence[float]
) -> list[str]:
    """Return the tips at percentiles of the gas that a block used."""
    tips = sorted(
        (it.tip, receipt.gas_used) for it, receipt in zip(block.transactions, receipts, strict=True)
    )
    if not tips:
        return ["0x0"] * len(percentiles)
    found, at, used = [], 0, tips[0][1]
    for percentile in percentiles:
        wanted = int(block.header.quantity("gasUsed") * percentile / 100)
        while used < wanted and at < len(tips) - 1:
            at += 1
            used += tips[at][1]
        found.append(hex(tips[at][0]))
    return found


async def _rewards(
    blocks: ProvenBlocks, headers: Sequence[HashedHeader], percentiles: Sequence[float]
) -> list[list[str]]:
    if len(headers) > MAX_BODIES:
        raise Unprovable(
            METHOD,
            f"rewards are proven by the receipts of at most {MAX_BODIES} blocks: ask for fewer blocks, or no percentiles",
        )
    return [
        rewards_of(block, receipts, percentiles)
        async for block, receipts in blocks.with_receipts(headers)
    ]


def _ratio(header: HashedHeader) -> float:
    limit = header.quantity("gasLimit")
    return header.quantity("gasUsed") / limit if limit else 0.0
