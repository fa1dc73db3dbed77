"""`eth_createAccessList`: the accounts and slots that a transaction touches."""

from __future__ import annotations

from entresol import _native
from entresol._native import CreatedAccessList
from entresol.execution.call.call import CallRequest
from entresol.execution.call.limits import DEFAULT_LIMITS, CallLimits
from entresol.execution.evm_env import EvmEnv


def create_access_list(
    evm_env: EvmEnv, request: CallRequest, limits: CallLimits = DEFAULT_LIMITS
) -> CreatedAccessList:
    """Return what `request` touches beside sender, target and precompiles, and what it declares itself."""
    return _native.create_access_list(evm_env, request, limits.gas_cap, limits=limits.native())
