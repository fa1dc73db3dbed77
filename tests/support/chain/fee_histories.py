"""Fee histories of records, without a chain."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from entresol._native import FeeHistory
from entresol.primitives.records import LAYOUT, BlockRecord
from entresol.rpc.services.native_reads import FEE_HISTORY_LIMITS

if TYPE_CHECKING:
    from entresol._native import Rules
    from entresol.primitives.headers import Header


def history_over(stored: bytes, blobs: Rules | int = 1) -> FeeHistory:
    """Return the history of a chain, each block of which has this record."""
    return FeeHistory(
        LAYOUT,
        blobs=blobs,
        limits=FEE_HISTORY_LIMITS,
        load=lambda _: stored,
        head=lambda: 1,
        next_fees=lambda: (0, 0),
        capacity=1 << 20,
    )


def fees_of(
    record: BlockRecord, blobs: Rules | int = 1, percentiles: tuple[float, ...] = ()
) -> dict[str, Any]:
    """Return what a block contributes to a history: the first item of each list."""
    text = history_over(record.encode(), blobs).render(1, 1, percentiles)
    history = json.loads(text)
    assert history.pop("oldestBlock") == "0x1"
    return {name: values[0] for name, values in history.items()}


def fees_of_header(header: Header, blobs: Rules | int) -> tuple[int, float]:
    """Return the price of blob gas of an empty block, and which part of its blobs it has."""
    fees = fees_of(BlockRecord(header.encode(), (), (), (), ()), blobs)
    return int(fees["baseFeePerBlobGas"], 16), fees["blobGasUsedRatio"]
