"""Going back to what was, with every chain that belongs together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.chain.chain import MAX_CHECKPOINTS

if TYPE_CHECKING:
    from entresol.chain.chain import Chain


class Checkpoints:
    """Remembers several chains at once, and makes them what they were at once.

    A layer 2 that goes back alone would differ from what its layer 1 has of it, and the other way
    round. Remembers: which checkpoints of the chains belong together. Persists: nothing.
    """

    def __init__(self, *chains: Chain) -> None:
        self._chains = chains
        self._taken: dict[int, tuple[int, ...]] = {}
        self._last = 0

    def take(self) -> int:
        """Remember the chains as they are, and return a number to go back by."""
        self._last += 1
        if len(self._taken) >= MAX_CHECKPOINTS:
            del self._taken[next(iter(self._taken))]
        self._taken[self._last] = tuple(chain.checkpoint() for chain in self._chains)
        return self._last

    def restore(self, number: int) -> bool:
        """Make the chains what they were, and forget that checkpoint and all later ones."""
        taken = self._taken.get(number)
        if taken is None:
            return False
        self._taken = {n: those for n, those in self._taken.items() if n < number}
        for chain, checkpoint in zip(self._chains, taken, strict=True):
            chain.restore(checkpoint)
        return True
