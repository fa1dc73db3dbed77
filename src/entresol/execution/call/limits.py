"""Limits of a call: gas, time and cancellation, shared by all runs that it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

from entresol._native import CancelFlag, ExecutionResult, Limits
from entresol.errors import DeadlinePassed
from entresol.state_missing import work_clock

T = TypeVar("T")


class CallLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How far a call, an estimate or a simulation may go before it is stopped.

    `gas_cap` bounds the gas limit of each run. `gas_budget`, `seconds` and `cancel` bound all runs
    together. Exceeding the budget raises `GasBudgetSpent`: the event loop tries a call with a small
    budget first, and offloads it to a thread if it needs more. `published_bytes` is what a batch can publish of a
    transaction: estimates reject larger data, which no pool accepts.
    """

    gas_cap: int = 50_000_000
    seconds: float | None = 5.0
    gas_budget: int | None = None
    cancel: CancelFlag | None = None
    published_bytes: int | None = None

    def native(self) -> Limits:
        """Return what bounds all runs, as the engine takes it; the clock starts with the first."""
        return Limits(gas=self.gas_budget, seconds=self.seconds, cancel=self.cancel)


DEFAULT_LIMITS: Final = CallLimits()


class CallBudget:
    """What is left of the limits of a call that takes several runs, all on one thread."""

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits
        self._gas = limits.gas_budget
        self._deadline = None if limits.seconds is None else work_clock() + limits.seconds

    def left(self) -> Limits:
        """Return the limits of the next run."""
        seconds = None if self._deadline is None else self._deadline - work_clock()
        if seconds is not None and seconds <= 0:
            raise DeadlinePassed
        return Limits(gas=self._gas, seconds=seconds, cancel=self._limits.cancel)

    def spend(self, result: ExecutionResult) -> None:
        """Deduct what a run has spent."""
        if self._gas is not None:
            self._gas = max(0, self._gas - result.budget_spent)


def run_limited(limits: CallLimits, run: Callable[[CallLimits], T]) -> T:
    """Return what `run` returns; a timeout is reported in geth's wording."""
    try:
        return run(limits)
    except DeadlinePassed as error:
        raise DeadlinePassed(f"execution aborted (timeout = {limits.seconds:g}s)") from error
