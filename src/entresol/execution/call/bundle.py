"""`eth_callMany`: bundles of calls in a block, each on the state that the previous one left."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from entresol._native import Overlay, run_call
from entresol.errors import ExecutionFailed, InvalidTransaction
from entresol.errors.base import without_frames
from entresol.execution.call.call import CallRequest
from entresol.execution.call.limits import DEFAULT_LIMITS, CallBudget, CallLimits
from entresol.execution.call.overrides import BlockOverrides, override
from entresol.execution.evm_env import EvmEnv, overlay_on
from entresol.execution.reverts import failure_of

BundledResult: TypeAlias = bytes | ExecutionFailed | InvalidTransaction
"""The output of a call, or why it failed or could not start."""


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """Calls that run in the same block, and the overrides of that block."""

    calls: tuple[CallRequest, ...] = ()
    block: BlockOverrides | None = None


def call_many(
    evm_env: EvmEnv, bundles: Iterable[Bundle], limits: CallLimits = DEFAULT_LIMITS
) -> list[list[BundledResult]]:
    """Return the results of the calls of each bundle; the state of `evm_env` is not changed.

    The gas cap of `limits` applies to each call, the other limits to all of them together. A call that
    fails or cannot start does not change the state for the next one.
    """
    budget = CallBudget(limits)
    overlay = overlay_on(evm_env.state)
    results = []
    for bundle in bundles:
        bundle_env = override(EvmEnv(overlay, evm_env.rules, evm_env.block), block=bundle.block)
        results.append(
            [_run(bundle_env, overlay, call, limits.gas_cap, budget) for call in bundle.calls]
        )
    return results


def _run(
    evm_env: EvmEnv, overlay: Overlay, request: CallRequest, cap: int, budget: CallBudget
) -> BundledResult:
    try:
        result = run_call(evm_env, request, cap, limits=budget.left())
    except InvalidTransaction as error:
        return without_frames(error)
    budget.spend(result)
    overlay.apply(result)
    failure = failure_of(result)
    return result.output if failure is None else failure
