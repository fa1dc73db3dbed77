"""`zks_estimateGasL1ToL2`: a gas limit with which L1 accepts a priority transaction and L2 executes it."""

from __future__ import annotations

from typing import Final

import msgspec

from entresol._native import estimate_l1_to_l2
from entresol.errors import MintOverflow
from entresol.execution.call.call import CallRequest, ZkCall
from entresol.execution.call.limits import DEFAULT_LIMITS, CallLimits
from entresol.execution.evm_env import EvmEnv
from entresol.primitives.bytecode import byte_counts
from entresol.primitives.l1_to_l2_gas import max_gas_limit, min_gas_limit
from entresol.primitives.transactions import PriorityTransaction

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
    minimum, maximum = gas_bounds(request, evm_env.block.gas_limit)
    dependencies = request.factory_deps
    call = CallRequest(
        sender=request.sender,
        to=request.to,
        value=request.value,
        data=request.data,
        zk=ZkCall(published=byte_counts(dependencies)) if dependencies else None,
    )
    return estimate_l1_to_l2(
        evm_env,
        call,
        gas_price=request.max_fee_per_gas,
        minimum=minimum,
        maximum=maximum,
        limits=limits.native(),
    )


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
