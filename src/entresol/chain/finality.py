"""The names by which blocks are asked for: latest, finalized and the others."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec


class BlockTag(StrEnum):
    """A name for a block."""

    LATEST = "latest"
    COMMITTED = "committed"
    PENDING = "pending"
    EARLIEST = "earliest"
    SAFE = "safe"
    FINALIZED = "finalized"
    L1_COMMITTED = "l1_committed"
    PRECOMMITTED = "precommitted"
    FAST_FINALIZED = "fast_finalized"


_SAFE: Final = frozenset({BlockTag.SAFE, BlockTag.L1_COMMITTED, BlockTag.PRECOMMITTED})
_FINALIZED: Final = frozenset({BlockTag.FINALIZED, BlockTag.FAST_FINALIZED})


class Finality(msgspec.Struct, frozen=True):
    """How far the other layer has confirmed the chain; genesis is always confirmed."""

    safe: int = 0
    finalized: int = 0

    def at_most(self, head: int) -> Finality:
        """Return the same for a chain that went back to `head`."""
        return Finality(min(self.safe, head), min(self.finalized, head))

    def resolve(self, tag: BlockTag, head: int) -> int:
        """Return the number of the block that `tag` names; a pending block follows the head."""
        if tag in _SAFE:
            return min(self.safe, head)
        if tag in _FINALIZED:
            return min(self.finalized, head)
        if tag is BlockTag.EARLIEST:
            return 0
        return head + 1 if tag is BlockTag.PENDING else head
