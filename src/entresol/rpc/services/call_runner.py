"""Questions that run code, kept off the event loop when they take long."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from entresol.errors import GasBudgetSpent
from entresol.execution.call.limits import CallLimits, run_limited
from entresol.execution.call.overrides import override
from entresol.rpc.jsonrpc.offload import POLICY, Offload
from entresol.rpc.types.overrides import OverrideLimits, state_overrides

if TYPE_CHECKING:
    from entresol.execution.evm_env import EvmEnv
    from entresol.rpc.types.overrides import BlockOverride, StateOverrides

T = TypeVar("T")


class CallRunner:
    """Answers what runs code: at once if that takes no time, or else on a worker thread."""

    def __init__(
        self, limits: CallLimits | None = None, overrides: OverrideLimits | None = None
    ) -> None:
        self._limits = limits or CallLimits()
        self._overrides = overrides or OverrideLimits()
        self._on_loop = msgspec.structs.replace(self._limits, gas_budget=POLICY.call_gas)

    def run(self, question: Callable[[CallLimits], T]) -> T | Offload[T]:
        """Return the answer, or the work that is left."""
        try:
            return run_limited(self._on_loop, question)
        except GasBudgetSpent:
            return Offload(lambda: run_limited(self._limits, question))

    def run_with_overrides(
        self,
        evm_env: EvmEnv,
        accounts: StateOverrides | None,
        block: BlockOverride | None,
        question: Callable[[EvmEnv, CallLimits], T],
    ) -> T | Offload[T]:
        """Return the answer on a scene with these assumptions, or the work that is left."""
        size = self._overrides.check(accounts)

        def assuming(limits: CallLimits) -> T:
            assumed = None if block is None else block.override()
            return question(override(evm_env, state_overrides(accounts), assumed), limits)

        if size <= POLICY.overrides:
            return self.run(assuming)
        return Offload(lambda: run_limited(self._limits, assuming))
