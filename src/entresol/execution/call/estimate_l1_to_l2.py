"""The gas limit that a request to L2 needs: L1 has to take it, and L2 to execute it."""

from __future__ import annotations

from typing import Final

import msgspec

from entresol._native import ExecutionResult, execute
from entresol.errors import MintOverflow
from entresol.execution.call.call import DEFAULT_LIMITS, CallLimits, Meter
from entresol.execution.call.estimate_gas import smallest_gas
from entresol.execution.evm_env import EvmEnv
from entresol.execution.tx_env import PRIORITY_CHECKS, priority_tx_env
from entresol.primitives.l1_to_l2_gas import max_gas_limit, min_gas_limit
from entresol.primitives.transactions import PriorityTransaction

MARGIN_PERCENT: Final = 15
"""What is added to the need of today: the state is another one when the request arrives."""

_MAX_MINT: Final = 2**256 - 1

_OLD_DEPOSIT: Final = bytes.fromhex("cfe7af7c")
_NEW_DEPOSIT_BYTES: Final = 6 * 32
"""How much longer the call is by which L1 deposits a token than the old one that clients estimate it by:
`finalizeDeposit(address,address,address,uint256,bytes)`."""


def estimate_l1_to_l2_gas(
    evm_env: EvmEnv, request: PriorityTransaction, limits: CallLimits = DEFAULT_LIMITS
) -> int:
    """Return a gas limit with which `request` is taken by L1 and succeeds on L2.

    The sender needs nothing on L2, since L1 pays. Raises what the request ends in if no limit helps.
    """
    cap = max_gas_limit(request)
    if request.value + cap * request.max_fee_per_gas > _MAX_MINT:
        raise MintOverflow
    meter = Meter(limits)

    def run(gas_limit: int) -> ExecutionResult:
        message = priority_tx_env(msgspec.structs.replace(request, gas_limit=gas_limit))
        outcome = execute(
            evm_env.state,
            evm_env.rules,
            evm_env.block.native,
            message,
            checks=PRIORITY_CHECKS,
            limits=meter.left(),
        )
        meter.count(outcome)
        return outcome

    needed = smallest_gas(run, cap).gas * (100 + MARGIN_PERCENT) // 100
    return min(max(needed, min_gas_limit(_as_l1_sends(request))), cap)


def _as_l1_sends(request: PriorityTransaction) -> PriorityTransaction:
    """Return a request of the size that it will have, where clients are known to estimate by another."""
    if not request.data.startswith(_OLD_DEPOSIT):
        return request
    return msgspec.structs.replace(request, data=request.data + bytes(_NEW_DEPOSIT_BYTES))
