"""Run calls and estimates: on the event loop while they are cheap, else on a worker thread."""

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
    """Runs calls within limits: with a small gas budget on the event loop, then on a worker thread."""

    def __init__(
        self, limits: CallLimits | None = None, overrides: OverrideLimits | None = None
    ) -> None:
        self._limits = limits or CallLimits()
        self._overrides = overrides or OverrideLimits()
        self._on_loop = msgspec.structs.replace(self._limits, gas_budget=POLICY.call_gas)

    def run(self, call: Callable[[CallLimits], T]) -> T | Offload[T]:
        """Return the result of a call, or the work for a worker."""
        try:
            return run_limited(self._on_loop, call)
        except GasBudgetSpent:
            return self.offload(call)

    def offload(
        self, call: Callable[[CallLimits], T], max_seconds: float | None = None
    ) -> Offload[T]:
        """Return a call that is always work for a worker, with less time than usual if so wanted."""
        limits = self._limits
        if max_seconds is not None and (limits.seconds is None or max_seconds < limits.seconds):
            limits = msgspec.structs.replace(limits, seconds=max_seconds)
        return Offload(lambda: run_limited(limits, call))

    def check_overrides(self, *overrides: StateOverrides | None) -> int:
        """Reject too many overrides; return how many accounts and slots there are."""
        return self._overrides.check(*overrides)

    def run_with_overrides(
        self,
        evm_env: EvmEnv,
        accounts: StateOverrides | None,
        block: BlockOverride | None,
        call: Callable[[EvmEnv, CallLimits], T],
    ) -> T | Offload[T]:
        """Return the result of a call with overrides, or the work for a worker."""
        size = self.check_overrides(accounts)

        def overridden(limits: CallLimits) -> T:
            block_overrides = None if block is None else block.override()
            return call(override(evm_env, state_overrides(accounts), block_overrides), limits)

        if size <= POLICY.overrides:
            return self.run(overridden)
        return self.offload(overridden)
