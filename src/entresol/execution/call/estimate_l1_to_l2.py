"""`zks_estimateGasL1ToL2`: a gas limit with which L1 accepts a priority transaction and L2 executes it."""

from __future__ import annotations

from typing import Final

import msgspec

from entresol._native import ExecutionResult, execute
from entresol.errors import MintOverflow
from entresol.execution.call.estimate_gas import smallest_gas
from entresol.execution.call.limits import DEFAULT_LIMITS, CallBudget, CallLimits
from entresol.execution.evm_env import PRIORITY_CHECKS, EvmEnv, priority_tx_env
from entresol.primitives.l1_to_l2_gas import max_gas_limit, min_gas_limit
from entresol.primitives.transactions import PriorityTransaction

MARGIN_PERCENT: Final = 15
"""The margin over the current need: the state may change before the request arrives."""

_MAX_MINT: Final = 2**256 - 1

_OLD_DEPOSIT: Final = bytes.fromhex("cfe7af7c")
_NEW_DEPOSIT_BYTES: Final = 6 * 32
"""Clients estimate a token deposit by `finalizeDeposit(address,address,address,uint256,bytes)`; the call
that L1 sends is longer by this much."""


def estimate_l1_to_l2_gas(
    evm_env: EvmEnv, request: PriorityTransaction, limits: CallLimits = DEFAULT_LIMITS
) -> int:
    """Return a gas limit with which L1 accepts `request` and it succeeds on L2.

    The sender needs no balance on L2, since L1 pays. Raises the failure if no limit suffices.
    """
    minimum, cap = gas_bounds(request, evm_env.block.gas_limit)
    budget = CallBudget(limits)

    def run(gas_limit: int) -> ExecutionResult:
        tx_env = priority_tx_env(msgspec.structs.replace(request, gas_limit=gas_limit))
        result = execute(
            evm_env.state,
            evm_env.rules,
            evm_env.block.native,
            tx_env,
            checks=PRIORITY_CHECKS,
            limits=budget.left(),
        )
        budget.spend(result)
        return result

    needed = smallest_gas(run, cap).gas * (100 + MARGIN_PERCENT) // 100
    return min(max(needed, minimum), cap)


def gas_bounds(request: PriorityTransaction, block_gas_limit: int) -> tuple[int, int]:
    """Return the lowest and the highest gas limit with which L1 accepts `request`; reject what it cannot mint."""
    cap = max_gas_limit(request, block_gas_limit)
    if request.value + cap * request.max_fee_per_gas > _MAX_MINT:
        raise MintOverflow
    return min_gas_limit(_as_l1_sends(request)), cap


def _as_l1_sends(request: PriorityTransaction) -> PriorityTransaction:
    """Return `request` with the size that L1 will send, where clients estimate a shorter call."""
    if not request.data.startswith(_OLD_DEPOSIT):
        return request
    added = b"\xff" * _NEW_DEPOSIT_BYTES  # at worst: calldata costs most without zeros
    return msgspec.structs.replace(request, data=request.data + added)
