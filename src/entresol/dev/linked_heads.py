"""Which blocks of L1 and L2 were the last ones at the same time."""

from __future__ import annotations

from bisect import bisect_right
from operator import gt, itemgetter
from typing import TYPE_CHECKING, Final

from entresol.chain.events import BLOCK_EVENTS, BlocksReverted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.chain.chain import Chain
    from entresol.chain.events import Event

MAX_CUTS: Final = 1_000_000
"""How many are held, in about 100 MB; the first half is dropped then."""


class LinkedHeads:
    """The numbers that the heads of several chains have had together, oldest first.

    What both chains once were together is consistent: L1 has no batch of a block that L2 lacks, and L2 no deposit
    that L1 lacks. Remembers: the numbers since the start. Persists: nothing.
    """

    def __init__(self, chains: Sequence[Chain], max_cuts: int = MAX_CUTS) -> None:
        self._chains = chains
        self._max_cuts = max_cuts
        self._cuts: list[tuple[int, ...]] = []
        self.restart()
        for chain in chains:
            chain.events.listen(self._on_event, *BLOCK_EVENTS)

    def restart(self) -> None:
        """Forget everything but where the chains are now."""
        self._cuts = [self._now()]

    def at(self, chain: Chain, number: int) -> tuple[int, ...] | None:
        """Return the last numbers of all heads while that of `chain` was `number`; None if that is not known."""
        index = self._chains.index(chain)
        after = self._count_until(index, number)
        found = self._cuts[after - 1] if after else None
        return found if found is not None and found[index] == number else None

    def _now(self) -> tuple[int, ...]:
        return tuple(chain.number for chain in self._chains)

    def _count_until(self, index: int, number: int) -> int:
        """Return how many cuts have at most `number` for the chain at `index`."""
        return bisect_right(self._cuts, number, key=itemgetter(index))

    def _on_event(self, event: Event) -> None:
        if isinstance(event, BlocksReverted) and event.head < 0:
            # Another chain: nothing is known of its earlier blocks.
            self.restart()
            return
        now = self._now()
        cuts = self._cuts
        if any(map(gt, cuts[-1], now)):
            # After a revert; both numbers of each cut are at least those of the one before.
            del cuts[min(self._count_until(index, number) for index, number in enumerate(now)) :]
        if not cuts or cuts[-1] != now:
            cuts.append(now)
        if len(cuts) > self._max_cuts:
            del cuts[: self._max_cuts // 2]
