"""The events of a round of derivation, each of which has to follow from those before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from entresol.counted import batches
from entresol.errors import LayerOneMismatch
from entresol.l1.contracts import BatchTotals
from entresol.rollup.derivation.l1_events import (
    BatchCommitted,
    BatchesReverted,
    BatchesVerified,
    BatchExecuted,
    BatchReverts,
)

if TYPE_CHECKING:
    from entresol.l1.layer_one import L1Block
    from entresol.rollup.derivation.deposit_feed import DepositFeed
    from entresol.rollup.derivation.l1_events import BatchEvent


class EventActions(Protocol):
    """What the events of a round do to a chain (`Derivation`)."""

    async def commit(
        self, event: BatchCommitted, feed: DepositFeed, head: L1Block, totals: BatchTotals
    ) -> None:
        """Derive a batch."""

    async def verified(self, event: BatchesVerified, numbers: range) -> None:
        """Record what proved batches."""

    async def executed(self, event: BatchExecuted) -> None:
        """Record what executed a batch."""

    def report(self, totals: BatchTotals) -> None:
        """Say how far it is."""

    def steps(self) -> BatchTotals:
        """Return how far the recorded batches are."""


class EventRound:
    """Checks that the events of a round follow from each other, and passes them on."""

    def __init__(
        self,
        derivation: EventActions,
        feed: DepositFeed,
        reverts: BatchReverts,
        totals: BatchTotals,
        head: L1Block,
    ) -> None:
        self._derivation = derivation
        self._feed = feed
        self._reverts = reverts
        self._totals = totals
        self._head = head
        self._seen = derivation.steps()

    async def take(self, event: BatchEvent) -> None:
        """Take the next event."""
        derivation, seen = self._derivation, self._seen
        lasting = self._reverts.last_after(event.position)
        if isinstance(event, BatchCommitted):
            number = event.claim.number
            self._check(number == seen.committed + 1, event, f"batch {number} is committed")
            if number <= lasting:
                await derivation.commit(event, self._feed, self._head, self._totals)
            self._seen = msgspec.structs.replace(seen, committed=number)
            derivation.report(self._totals)
        elif isinstance(event, BatchesVerified):
            is_next = event.before <= seen.verified and event.last <= seen.committed
            self._check(is_next, event, f"batches {event.before + 1} to {event.last} are verified")
            numbers = range(event.before + 1, min(event.last, lasting) + 1)
            if numbers:
                await derivation.verified(event, numbers)
            self._seen = msgspec.structs.replace(seen, verified=max(seen.verified, event.last))
        elif isinstance(event, BatchExecuted):
            is_next = event.number <= min(seen.executed + 1, seen.verified)
            self._check(is_next, event, f"batch {event.number} is executed")
            await derivation.executed(event)
            self._seen = msgspec.structs.replace(seen, executed=max(seen.executed, event.number))
        else:
            self._revert(event)

    def check(self, l1: str) -> None:
        """Raise `LayerOneMismatch` unless the logs add up to what L1 counts."""
        if self._seen != self._totals:
            raise LayerOneMismatch(
                f"the logs of {l1} have {_shown(self._seen)}, and its contract counts {_shown(self._totals)}"
            )

    def _revert(self, event: BatchesReverted) -> None:
        left, seen = event.totals, self._seen
        is_next = seen.executed <= left.committed < seen.committed
        self._check(is_next, event, f"the batches after {left.committed} are reverted")
        self._seen = BatchTotals(left.committed, min(seen.verified, left.committed), seen.executed)

    def _check(self, is_right: bool, event: BatchEvent, what: str) -> None:  # noqa: FBT001
        if not is_right:
            raise LayerOneMismatch(
                f"log {event.position.log_index} of L1 block {event.position.block} says that {what}, but the logs "
                f"before it have {_shown(self._seen)}: some are missing"
            )


def _shown(totals: BatchTotals) -> str:
    return f"{batches(totals.committed)} committed, {totals.verified} verified, {totals.executed} executed"
