"""Compare the clock of the chain with the blocks of L1: batches that L1 takes for later than itself do not settle."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

from entresol.errors import LayerOneFailed
from entresol.node.metrics import Sample
from entresol.rollup.step_loop import Backoff, StepLoop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from entresol.l1.layer_one import L1Block, LayerOne

log = logging.getLogger(__name__)

POLL_SECONDS: Final = 2.0
MAX_SKEW_SECONDS: Final = 60
"""More than a block of L1 takes until it is seen, and than the clocks of its nodes may differ."""


class L1Clock:
    """Compares a clock with the timestamps of L1.

    A block of L1 cannot be later than now. How old its head is says nothing while L1 seals no blocks, so only one that
    was not there a moment ago shows that the clock is ahead.
    Remembers: the last head, and the last difference. Persists: nothing. Fails: an L1 that cannot be reached is
    retried, and leaves the last difference.
    """

    def __init__(
        self,
        l1: LayerOne,
        now: Callable[[], int],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._l1 = l1
        self._now = now
        self._monotonic = monotonic
        self._head: L1Block | None = None
        self._read_at = 0.0
        self._steps = StepLoop(
            self._poll, log, failing="cannot read the time of L1", backoff=Backoff(POLL_SECONDS)
        )
        self.skew_seconds: int | None = None
        """How far the clock is ahead of L1; None if that is not known."""

    @property
    def problem(self) -> str | None:
        """That the clocks differ; None if they do not, or if that is not known."""
        skew = self.skew_seconds or 0
        if abs(skew) <= MAX_SKEW_SECONDS:
            return None
        where = "ahead of" if skew > 0 else "behind"
        doubt = ", or that L1 lags" if skew > 0 else ""
        return (
            f"the clock of this node is {abs(skew)} s {where} {self._l1.name}: check that it is right{doubt}, since "
            "batches settle by L1's"
        )

    async def run(self) -> None:
        """Compare for ever."""
        await self._steps.run()

    async def step(self) -> None:
        """Compare once; log a difference when it appears, and when it is gone."""
        before, asked = self.problem, self._monotonic()
        head, last = await self._l1.head(), self._head
        ahead = self._now() - head.timestamp
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
        if self.problem is not None and before is None:
            log.warning("%s", self.problem)
        elif self.problem is None and before is not None:
            log.info("the clock of this node agrees with %s again", self._l1.name)

    def metrics(self) -> Iterator[Sample]:
        """Yield the difference, if it is known."""
        if self.skew_seconds is not None:
            yield Sample(
                "l1_clock_skew_seconds",
                "How far the clock of this node is ahead of L1, by the last block that was seen when it was sealed.",
                self.skew_seconds,
            )

    async def _poll(self) -> float:
        try:
            await self.step()
        except LayerOneFailed as error:
            # Deposits and settlement report an L1 that does not respond.
            log.debug("the time of L1 is unknown: %s", error)
        return POLL_SECONDS
