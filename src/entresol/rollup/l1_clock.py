"""Compare the clock of the chain with the blocks of L1: batches that L1 takes for later than itself do not settle."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

from entresol.errors import LayerOneFailed
from entresol.rollup.step_loop import Backoff, StepLoop, Stepping

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.chain.clock import Clock
    from entresol.l1.layer_one import L1Block, LayerOne

log = logging.getLogger(__name__)

POLL_SECONDS: Final = 2.0
MAX_SKEW_SECONDS: Final = 60
"""More than a block of L1 takes until it is seen, and than the clocks of its nodes may differ."""


class L1Clock(Stepping):
    """Compares a clock with the timestamps of L1.

    A block of L1 cannot be later than now. How old its head is says nothing while L1 seals no blocks, so only one
    that was not there a moment ago shows that the clock is ahead. Which of both clocks is wrong shows by how evenly
    this one ran since they agreed. Fails: an L1 that cannot be reached is retried, and leaves the last difference.
    """

    def __init__(
        self, l1: LayerOne, clock: Clock, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Compare the clock of a chain, which follows that of the node unless developers move it."""
        self._l1 = l1
        self._clock = clock
        self._monotonic = monotonic
        self._head: L1Block | None = None
        self._read_at = 0.0
        self._begun = self._base()
        self._agreed: float | None = None
        self._steps = StepLoop(
            self._poll, log, failing="cannot read the time of L1", backoff=Backoff(POLL_SECONDS)
        )
        self.skew_seconds: int | None = None
        """How far the clock is ahead of L1; None if that is not known."""

    @property
    def problem(self) -> str | None:
        """That the clocks differ, and which of them is wrong; None if they do not, or if that is not known."""
        skew = self.skew_seconds or 0
        if abs(skew) <= MAX_SKEW_SECONDS:
            return None
        l1, seconds = self._l1.name, abs(skew)
        where = f"{seconds} s {'ahead of' if skew > 0 else 'behind'} {l1}"
        moved, base = self._clock.state.offset, self._base()
        if _explains(moved, skew):
            return f"the clock of this chain is {where}: it was moved by {moved} s, and batches settle by the clock of L1"
        if _explains(base - self._begun, skew):
            return (
                f"the clock of this node is {where}, since it was set by {base - self._begun:+.0f} s: check that it is "
                "right, since batches settle by L1's"
            )
        doubt = "it lags" if skew > 0 else "it seals more than a block a second"
        if self._agreed is not None and abs(base - self._agreed) <= MAX_SKEW_SECONDS:
            return (
                f"the clock of {l1} is {seconds} s {'behind' if skew > 0 else 'ahead of'} that of this node, which has "
                f"run evenly since both agreed: the time of L1 was moved, or {doubt}. Batches settle by it"
            )
        return (
            f"the clock of this node is {where}, and it is not known which of both is wrong: check that of this node; "
            f"that of L1 is wrong if it was moved, or if {doubt}. Batches settle by L1's"
        )

    def _base(self) -> float:
        """Return what the clock of this node is ahead of one that nobody sets."""
        return self._clock.now() - self._clock.state.offset - self._monotonic()

    async def step(self) -> None:
        """Compare once; log a difference when it appears, and when it is gone."""
        before, asked = self.problem, self._monotonic()
        head, last = await self._l1.head(), self._head
        ahead = self._clock.now() - head.timestamp
        was_just_sealed = (
            last is not None
            and head.number > last.number
            and asked - self._read_at < 2 * POLL_SECONDS
        )
        self._head, self._read_at = head, asked
        if was_just_sealed or ahead < 0:
            self.skew_seconds = ahead
        elif head != last or (self.skew_seconds or 0) < 0:
            # What was seen before is gone: a reorg, or a response that was wrong.
            self.skew_seconds = None
        if self.skew_seconds is not None and abs(self.skew_seconds) <= MAX_SKEW_SECONDS:
            self._agreed = self._base()
        if self.problem is not None and before is None:
            log.warning("%s", self.problem)
        elif self.problem is None and before is not None:
            log.info("the clock of this node agrees with %s again", self._l1.name)

    async def _poll(self) -> float:
        try:
            await self.step()
        except LayerOneFailed as error:
            # Deposits and settlement report an L1 that does not respond.
            log.debug("the time of L1 is unknown: %s", error)
        return POLL_SECONDS


def _explains(change: float, skew: int) -> bool:
    """Return whether the clock differs so far because it was changed by so much."""
    return change * skew > 0 and abs(change) >= abs(skew) - MAX_SKEW_SECONDS
