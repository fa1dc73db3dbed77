"""What a chain was at a block, to continue from there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from entresol.chain.block_settings import BlockSettings
from entresol.chain.clock import ClockState
from entresol.chain.finality import Finality
from entresol.chain.mempool import PoolCheckpoint
from entresol.storage.batch_table import BatchMark

if TYPE_CHECKING:
    from entresol._native import Overlay
    from entresol.primitives.transactions import Transaction


class ChainMark(msgspec.Struct, frozen=True, kw_only=True):
    """What `History.unwind` leaves: the last block, the build state of the next one, and what is pending."""

    number: int
    clock: ClockState
    settings: BlockSettings
    finality: Finality
    base_fee: int
    """That of the next block, by which the pool is ordered."""
    edited: Overlay | None = None
    priority: tuple[Transaction, ...] = ()
    pool: PoolCheckpoint | None = None
    """None if the penalties of the pool stay as they are."""
    batches: BatchMark | None = None
    """None if they stay: there is no L1 that is reverted, too."""
