"""Trace calls: one, or several that build on each other's state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol import _native
from entresol._native import Limits, Tracer
from entresol.errors import DeadlinePassed, TraceTooLarge
from entresol.execution.call.call import CallRequest
from entresol.execution.evm_env import EvmEnv, overlay_on

if TYPE_CHECKING:
    from entresol._native import ExecutionResult
    from entresol.execution.trace.budget import TraceBudget


def trace_call(
    evm_env: EvmEnv, request: CallRequest, options: bytes, budget: TraceBudget, gas_cap: int
) -> ExecutionResult:
    """Return the result of a call with its trace; a call may use `gas_cap` at most."""
    limits = Limits(seconds=budget.seconds_left(), trace_bytes=budget.bytes_left())
    try:
        return _native.trace_call(evm_env, request, gas_cap, limits=limits, tracer=Tracer(options))
    except TraceTooLarge:
        raise budget.too_large() from None
    except DeadlinePassed:
        raise DeadlinePassed("execution timeout") from None


class CallSequence:
    """Calls that are traced one after another, each on the state that the one before it left."""

    def __init__(self, evm_env: EvmEnv, budget: TraceBudget, gas_cap: int) -> None:
        self._overlay = overlay_on(evm_env.state)
        self._env = evm_env
        self._budget = budget
        self._gas_cap = gas_cap

    @property
    def env(self) -> EvmEnv:
        """The environment of the next call."""
        return EvmEnv(self._overlay, self._env.rules, self._env.block)

    def trace(
        self, request: CallRequest, options: bytes, env: EvmEnv | None = None
    ) -> ExecutionResult:
        """Return the result of the next call with its trace, in another block environment if one is given."""
        ran = trace_call(env or self.env, request, options, self._budget, self._gas_cap)
        self._overlay.apply(ran)
        return ran
