"""A budget for the work of blocks, where that must not take long: gas is a poor measure of time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol._native import Limits

if TYPE_CHECKING:
    from entresol._native import ExecutionResult

GAS_PER_SECOND: Final = 500_000_000
"""How much gas of instructions without a surcharge takes a second: two nanoseconds for a unit."""


class WorkBudget:
    """What the transactions of one or more blocks may take, in gas of instructions that take as long.

    Remembers: what is left. Fails: an execution beyond it raises `GasBudgetSpent`, and changes nothing.
    """

    def __init__(self, gas: int) -> None:
        self._left = gas

    def limits(self) -> Limits:
        """Return the limits of the next execution."""
        return Limits(gas=self._left)

    def spend(self, result: ExecutionResult) -> None:
        """Deduct what an execution has taken."""
        self._deduct(result.budget_spent)

    def spend_time(self, seconds: float) -> None:
        """Deduct the time of what has no result, because it was rejected."""
        self._deduct(int(seconds * GAS_PER_SECOND))

    def _deduct(self, gas: int) -> None:
        self._left = max(0, self._left - gas)
