"""`eth_call`: execute an unsigned transaction against a state, and discard its changes."""

from __future__ import annotations

from typing import Final

import msgspec

from entresol._native import ExecutionResult, Tracer, call_output, run_call
from entresol.errors import MalformedValue
from entresol.execution.call.limits import DEFAULT_LIMITS, CallLimits
from entresol.execution.console import ConsoleCapture
from entresol.execution.evm_env import EvmEnv
from entresol.primitives.transactions import Access, Authorization
from entresol.primitives.transactions.zk import DEFAULT_GAS_PER_PUBDATA
from entresol.primitives.values import Address, Hash32

_NO_SENDER: Final = Address.zero()


class ZkCall(msgspec.Struct, frozen=True, kw_only=True):
    """What only a transaction of type 0x71 has."""

    paymaster: Address | None = None
    paymaster_input: bytes = b""
    signature: bytes = b""
    gas_per_pubdata_limit: int = DEFAULT_GAS_PER_PUBDATA
    factory_dep_hashes: tuple[Hash32, ...] = ()
    published: tuple[int, int] | None = None
    """How many bytes of the factory dependencies are zero, and how many are not."""
    has_meta: bool = False
    """Whether `eip712Meta` was given, and not the type alone."""


class CallRequest(msgspec.Struct, frozen=True, kw_only=True):
    """An `eth_call` request; every field is optional.

    A call that offers no fee is free: nothing is paid, and GASPRICE is 0 beside the block's real
    BASEFEE. One that offers a fee pays like a transaction, so the offer has to reach the base fee
    and the sender has to afford it. Either way the sender needs the value that the call sends. The
    nonce is ignored, and the sender may be a contract.
    """

    sender: Address = _NO_SENDER
    to: Address | None = None
    gas: int | None = None
    gas_price: int | None = None
    max_fee_per_gas: int | None = None
    max_priority_fee_per_gas: int | None = None
    value: int = 0
    data: bytes = b""
    nonce: int | None = None
    chain_id: int | None = None
    access_list: tuple[Access, ...] | None = None
    authorizations: tuple[Authorization, ...] | None = None
    blob_hashes: tuple[Hash32, ...] | None = None
    max_fee_per_blob_gas: int | None = None
    zk: ZkCall | None = None
    """What only a transaction of type 0x71 has, for estimates and traces; a call only pays for what it publishes."""

    def __post_init__(self) -> None:
        """Reject a gas price beside a fee cap."""
        if self.gas_price is not None and self.has_fee_cap:
            raise MalformedValue(
                "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified"
            )

    @property
    def has_fee_cap(self) -> bool:
        """Whether the request names a fee cap or a tip instead of a gas price."""
        return self.max_fee_per_gas is not None or self.max_priority_fee_per_gas is not None


def call(
    evm_env: EvmEnv,
    request: CallRequest,
    limits: CallLimits = DEFAULT_LIMITS,
    console: ConsoleCapture | None = None,
) -> bytes:
    """Return the output of a call, or raise the `ExecutionFailed` that it ended in."""
    record = None if console is None else console.record
    return call_output(evm_env, request, limits.gas_cap, limits=limits.native(), console=record)


def run(
    evm_env: EvmEnv,
    request: CallRequest,
    limits: CallLimits = DEFAULT_LIMITS,
    tracer: Tracer | None = None,
) -> ExecutionResult:
    """Execute a call and return its result, a success or a failure.

    The gas limit is the one it names, or else all that its sender can afford, up to the cap.
    """
    return run_call(evm_env, request, limits.gas_cap, limits=limits.native(), tracer=tracer)
