"""How long the transactions of a sender may wait for a missing nonce."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.chain.mempool.senders import SenderTransactions
    from entresol.primitives.values import Address


class QueueLifetime:
    """Counts since when each sender has transactions behind a nonce gap, as geth does (`--txpool.lifetime`).

    A sender whose transactions become pending counts anew. Remembers: a time for each such sender, the earliest first.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._since: dict[Address, float] = {}

    def update(self, sender_txs: SenderTransactions, *, has_promoted: bool = False) -> None:
        """Count a sender's time, after its transactions have changed."""
        sender = sender_txs.sender
        if not sender_txs.queued_count:
            self._since.pop(sender, None)
        elif has_promoted or sender not in self._since:
            self._since.pop(sender, None)
            self._since[sender] = self._clock()

    def expired(self) -> list[Address]:
        """Return the senders whose transactions have waited for too long."""
        if not self._since:
            return []
        end = self._clock() - self._seconds
        found = []
        for sender, since in self._since.items():
            if since > end:
                break
            found.append(sender)
        return found
