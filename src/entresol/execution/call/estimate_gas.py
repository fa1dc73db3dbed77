"""`eth_estimateGas`: the smallest gas limit with which a transaction succeeds, up to 1.5 %."""

from __future__ import annotations

from typing import Final

import msgspec

from entresol import _native
from entresol.errors import TransactionTooLargeToPublish
from entresol.execution.call.call import CallRequest
from entresol.execution.call.limits import DEFAULT_LIMITS, CallLimits
from entresol.execution.console import ConsoleCapture
from entresol.execution.evm_env import EvmEnv


class Estimate(msgspec.Struct, frozen=True):
    """A sufficient gas limit, and how many runs it took to find it."""

    gas: int
    runs: int


class Unfunded(msgspec.Struct, frozen=True, kw_only=True):
    """What has an estimate although its sender cannot pay: transfers, as in anvil, or everything, as in Hardhat."""

    transfers: bool = False
    estimates: bool = False


NEVER: Final = Unfunded()


def estimate_gas(
    evm_env: EvmEnv,
    request: CallRequest,
    limits: CallLimits = DEFAULT_LIMITS,
    *,
    unfunded: Unfunded = NEVER,
    console: ConsoleCapture | None = None,
) -> Estimate:
    """Return the gas limit that `request` needs as a transaction, or raise why none suffices."""
    most = limits.published_bytes
    if most is not None and len(request.data) > most:
        raise TransactionTooLargeToPublish(len(request.data), most)
    gas, runs = _native.estimate_gas(
        evm_env,
        request,
        limits.gas_cap,
        limits=limits.native(),
        unfunded_transfers=unfunded.transfers,
        unfunded_estimates=unfunded.estimates,
        console=None if console is None else console.record,
    )
    return Estimate(gas, runs)
