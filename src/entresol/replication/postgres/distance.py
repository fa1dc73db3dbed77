"""How far the database of a cluster is from a node: the time of a round trip, and the difference of their clocks."""

from __future__ import annotations

import time
from typing import Final, NamedTuple, Self

MAX_SKEW_SECONDS: Final = 2.0
"""A node whose clock differs more from the database's does not take over: timestamps of blocks come from its clock."""
SLOW_SECONDS: Final = 0.25
"""A longer round trip is reported: a block takes one, and what batches and settlement persist takes more."""


class DatabaseDistance(NamedTuple):
    """What one request to the database has shown."""

    skew_seconds: float
    """How far the clock of this node is ahead of the database's."""
    round_trip_seconds: float

    @classmethod
    def since(cls, sent: float, *, clock: float) -> Self:
        """Return the distance by a request that was sent then, by this node's clock, and returned the database's."""
        now = time.time()
        return cls((sent + now) / 2 - clock, now - sent)

    @property
    def is_skewed(self) -> bool:
        """Whether the clocks differ too much."""
        return abs(self.skew_seconds) > MAX_SKEW_SECONDS

    @property
    def problem(self) -> str | None:
        """What an operator has to know; None if neither is unusual."""
        if self.is_skewed:
            where = "ahead of" if self.skew_seconds > 0 else "behind"
            return (
                f"the clock of this node is {abs(self.skew_seconds):.1f} s {where} the database's"
            )
        if self.round_trip_seconds > SLOW_SECONDS:
            milliseconds = self.round_trip_seconds * 1000
            return f"a round trip to the database takes {milliseconds:.0f} ms, so blocks are slow"
        return None
