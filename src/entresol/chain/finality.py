"""Block tags (`latest`, `safe`, `finalized`, ...) and how far L1 has confirmed the chain."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec


class BlockTag(StrEnum):
    """A block tag of JSON-RPC, with those of ZKsync."""

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
    """The last safe and the last finalized block; genesis is always finalized.

    With `epoch_slots` they are one and two epochs behind the head, as in anvil: of a fork, also below its first block.
    """

    safe: int = 0
    finalized: int = 0
    epoch_slots: int | None = None

    def updated(self, safe: int | None, finalized: int | None) -> Finality:
        """Return the finality with other blocks; what is None stays."""
        return msgspec.structs.replace(
            self,
            safe=self.safe if safe is None else safe,
            finalized=self.finalized if finalized is None else finalized,
        )

    def at_most(self, head: int) -> Finality:
        """Return the finality of a chain that was reverted to `head`."""
        return self.updated(min(self.safe, head), min(self.finalized, head))

    def resolve(self, tag: BlockTag, head: int, first: int = 0) -> int:
        """Return the block number of `tag`; the pending block has the number after the head's, genesis is `first`."""
        if tag in _SAFE:
            return self._behind(head, 1, self.safe, first)
        if tag in _FINALIZED:
            return self._behind(head, 2, self.finalized, first)
        if tag is BlockTag.EARLIEST:
            return first
        return head + 1 if tag is BlockTag.PENDING else head

    def _behind(self, head: int, epochs: int, reported: int, first: int) -> int:
        slots = self.epoch_slots
        return max(min(reported, head), first) if slots is None else max(head - epochs * slots, 0)
