"""Questions that run code, kept off the event loop when they take long."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from entresol.errors import GasBudgetSpent
from entresol.execution.calls import CallLimits, within
from entresol.execution.overrides import override
from entresol.rpc.call_objects import OverrideLimits, state_overrides
from entresol.rpc.method import Later

if TYPE_CHECKING:
    from entresol.execution.scene import Scene
    from entresol.rpc.call_objects import BlockOverride, StateOverrides

T = TypeVar("T")

QUICK_OVERRIDES: Final = 128
"""How many assumed accounts and slots an event loop may lay out by itself."""

LOOP_GAS: Final = 200_000
"""What a question may use before it leaves the event loop: a fraction of a millisecond."""


class Questions:
    """Answers what runs code: at once if that takes no time, or else on a worker thread."""

    def __init__(
        self, limits: CallLimits | None = None, overrides: OverrideLimits | None = None
    ) -> None:
        self._limits = limits or CallLimits()
        self._overrides = overrides or OverrideLimits()
        self._on_loop = msgspec.structs.replace(self._limits, gas_budget=LOOP_GAS)

    def ask(self, question: Callable[[CallLimits], T]) -> T | Later[T]:
        """Return the answer, or the work that is left."""
        try:
            return within(self._on_loop, question)
        except GasBudgetSpent:
            return Later(lambda: within(self._limits, question))

    def ask_assuming(
        self,
        scene: Scene,
        accounts: StateOverrides | None,
        block: BlockOverride | None,
        question: Callable[[Scene, CallLimits], T],
    ) -> T | Later[T]:
        """Return the answer on a scene with these assumptions, or the work that is left."""
        size = self._overrides.check(accounts)

        def assuming(limits: CallLimits) -> T:
            assumed = None if block is None else block.override()
            return question(override(scene, state_overrides(accounts), assumed), limits)

        if size <= QUICK_OVERRIDES:
            return self.ask(assuming)
        return Later(lambda: within(self._limits, assuming))
