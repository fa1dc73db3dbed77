"""`eth_createAccessList`: the accounts and slots that a transaction touches."""

from __future__ import annotations

import msgspec

from entresol import _native
from entresol.execution.call.call import CallRequest
from entresol.execution.call.limits import DEFAULT_LIMITS, CallLimits
from entresol.execution.evm_env import EvmEnv
from entresol.primitives.transactions import Access
from entresol.primitives.values import Address, Hash32


class CreatedAccessList(msgspec.Struct, frozen=True):
    """An access list, the gas that the transaction uses with it, and its error if it fails."""

    access_list: tuple[Access, ...]
    gas_used: int
    error: str | None


def create_access_list(
    evm_env: EvmEnv, request: CallRequest, limits: CallLimits = DEFAULT_LIMITS
) -> CreatedAccessList:
    """Return what `request` touches beside sender, target and precompiles, and what it declares itself."""
    touched, gas_used, failure = _native.create_access_list(
        evm_env, request, limits.gas_cap, limits=limits.native()
    )
    access_list = tuple(Access(Address(at), tuple(map(Hash32, slots))) for at, slots in touched)
    return CreatedAccessList(access_list, gas_used, None if failure is None else str(failure))
