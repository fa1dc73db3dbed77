"""Why settlement stopped, and when what stopped it is tried again."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from entresol.primitives.batches import SettlementStep
    from entresol.rollup.settlement.l1_sync import L1Sync
    from entresol.rollup.settlement.pending_tx import SettlementOperation
    from entresol.rollup.step_loop import Backoff
    from entresol.storage.batch_table import BatchTable

log = logging.getLogger(__name__)


class SettlementStop:
    """Stops settlement after an operation that reverts, or would, until L1 says that it would not any more.

    Remembers: the operation and why, when it is tried next, and the pause after that: it doubles each time that the
    operation reverts on L1, which costs gas. Persists: nothing; a restart tries at once. Fails: never.
    """

    def __init__(self, batches: BatchTable, l1_sync: L1Sync, backoff: Backoff) -> None:
        self._batches = batches
        self._l1_sync = l1_sync
        self._backoff = backoff
        self._pause = backoff.first()
        self._by: tuple[SettlementOperation, bytes] | None = None
        self._until = 0.0
        self.now = 0.0
        """The time of the current step."""
        self.reason: str | None = None
        """Why it is stopped."""

    def on_reverted(self, operation: SettlementOperation, reason: str) -> None:
        """Stop because of an operation."""
        before, self.reason = self.reason, f"{operation} failed: {reason}"
        self._by = operation, self._l1_sync.batch(operation.first).state_root
        self._until = self.now + self._pause
        if self.reason != before:
            log.error("settlement stopped: %s", self.reason)

    def on_sent(self, operation: SettlementOperation) -> None:
        """Go on if this stopped it: L1 says that it would not revert now."""
        stopped_by = self._by and self._by[0]
        if stopped_by is None or operation[:2] != stopped_by[:2]:
            return
        self._pause = self._backoff.after(self._pause)
        if self.reason is not None:
            log.info("settlement resumes with the %s", operation)
        self.reason = None

    def may_send(self, steps: Collection[SettlementStep]) -> bool:
        """Return whether a key with these steps may send: not while stopped, but to try again what stopped it."""
        if self._by is None:
            return True
        (step, first, _), root = self._by
        batch, is_done = self._batches.get(first), self._l1_sync.totals.last(step) >= first
        if batch is None or batch.state_root != root or is_done:
            if self.reason is not None:
                log.info("settlement resumes: what stopped it is done, or its batch was reverted")
            self.reason = self._by = None
            self._pause = self._backoff.first()
        if self.reason is None:
            return True
        return self.now >= self._until and step in steps

    def lift(self) -> None:
        """Go on at once."""
        self.reason = None
