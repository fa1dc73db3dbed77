"""Questions that run code, kept off the event loop when they take long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

from entresol.errors import GasBudgetSpent
from entresol.execution.calls import CallLimits, within
from entresol.rpc.method import Later

T = TypeVar("T")

LOOP_GAS: Final = 200_000
"""What a question may use before it leaves the event loop: a fraction of a millisecond."""


class Questions:
    """Answers what runs code: at once if that takes no time, or else on a worker thread."""

    def __init__(self, limits: CallLimits | None = None) -> None:
        self._limits = limits or CallLimits()
        self._on_loop = msgspec.structs.replace(self._limits, gas_budget=LOOP_GAS)

    def ask(self, question: Callable[[CallLimits], T]) -> T | Later[T]:
        """Return the answer, or the work that is left."""
        try:
            return within(self._on_loop, question)
        except GasBudgetSpent:
            return Later(lambda: within(self._limits, question))
