"""Batches that a chain has sealed to publish, and L1 has not taken yet."""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, Final

from entresol.errors import PoolRejection
from entresol.primitives.batches import SettlementStep

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.primitives.batches import Batch
    from entresol.storage.batch_table import BatchTable

log = logging.getLogger(__name__)

MAX_COMMITS: Final = 64
"""How many batches may wait for their commit before new transactions are rejected."""
RESUME_COMMITS: Final = 48
"""Below how many they are accepted again."""


class Backlog:
    """Closes the pool of a chain that publishes while L1 is too far behind.

    Only batches with transactions of users count: empty blocks and deposits take next to nothing, and rejecting what
    users send would not make them fewer. A commit that a reorg of L1 has removed does not count again.
    """

    def __init__(self, batches: BatchTable, problem: Callable[[], str | None]) -> None:
        """Read what waits; `problem` is why nothing is settled at the moment, if that is known."""
        self._batches = batches
        self._problem = problem
        self._waiting: deque[int] = deque()
        self._is_closed = False
        self.reload()

    @property
    def size(self) -> int:
        """How many batches with transactions of users wait for their commit."""
        waiting, settled = self._waiting, self._batches.settled
        while waiting and settled(waiting[0], SettlementStep.COMMIT) is not None:
            waiting.popleft()
        return len(waiting)

    @property
    def problem(self) -> str | None:
        """Why no transaction is accepted now; None if they are."""
        rejection = self.rejection()
        return None if rejection is None else str(rejection)

    def on_sealed(self, batch: Batch) -> None:
        """Count a batch."""
        if batch.transactions > batch.l1_transactions:
            self._waiting.append(batch.number)

    def reload(self) -> None:
        """Read what waits: the node has started, or blocks were reverted."""
        last = self._batches.last()
        first = self._batches.last_settled(SettlementStep.COMMIT) + 1
        self._waiting.clear()
        for number in range(first, first if last is None else last.number + 1):
            batch = self._batches.get(number)
            if batch is not None:
                self.on_sealed(batch)

    def rejection(self) -> PoolRejection | None:
        """Return why no transaction is accepted now."""
        # Almost always there is nothing to look up.
        if not self._is_closed and len(self._waiting) <= MAX_COMMITS:
            return None
        size = self.size
        is_closed = size >= RESUME_COMMITS if self._is_closed else size > MAX_COMMITS
        if is_closed != self._is_closed:
            self._is_closed = is_closed
            log.warning(
                "%d batches wait for their commit on L1: new transactions are %s",
                size,
                "rejected" if is_closed else "accepted again",
            )
        if not is_closed:
            return None
        problem = self._problem()
        reason = "" if problem is None else f" ({problem})"
        return PoolRejection(
            f"L1 is behind: {size} batches of this chain wait for their commit{reason}. New transactions are accepted "
            f"again when there are fewer than {RESUME_COMMITS}; send this one then, or by a deposit"
        )
