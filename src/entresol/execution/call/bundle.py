"""Calls one after another in a block, each on what the ones before it left."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from entresol._native import Overlay
from entresol.errors import ExecutionFailed, InvalidTransaction
from entresol.execution.call.call import (
    DEFAULT_LIMITS,
    CallLimits,
    CallRequest,
    Meter,
    call_tx_env,
    gas_for,
    run_tx_env,
)
from entresol.execution.call.overrides import BlockOverrides, override
from entresol.execution.evm_env import EvmEnv, overlay_on
from entresol.execution.reverts import failure_of

Ending: TypeAlias = bytes | ExecutionFailed | InvalidTransaction
"""What a call gives back, or why it gives nothing back."""


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """Calls that run in the same block, and what to assume of it."""

    calls: tuple[CallRequest, ...] = ()
    block: BlockOverrides | None = None


def call_many(
    evm_env: EvmEnv, bundles: Iterable[Bundle], limits: CallLimits = DEFAULT_LIMITS
) -> list[list[Ending]]:
    """Return how the calls of each bundle end; `scene` stays as it is.

    The gas cap of `limits` is for each call, the rest for all of them together. A call that fails or
    cannot begin leaves the state to the next one as it was.
    """
    meter = Meter(limits)
    overlay = overlay_on(evm_env.state)
    endings = []
    for bundle in bundles:
        stage = override(EvmEnv(overlay, evm_env.rules, evm_env.block), block=bundle.block)
        endings.append([_run(stage, overlay, it, limits.gas_cap, meter) for it in bundle.calls])
    return endings


def _run(evm_env: EvmEnv, overlay: Overlay, request: CallRequest, cap: int, meter: Meter) -> Ending:
    try:
        message = call_tx_env(request, gas_for(evm_env, request, cap))
        outcome = run_tx_env(evm_env, request, message, meter.left())
    except InvalidTransaction as error:
        return error
    meter.count(outcome)
    overlay.apply(outcome)
    failure = failure_of(outcome)
    return outcome.output if failure is None else failure
