"""Calls that change nothing: `eth_call`, estimates of gas, access lists and bundles."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

import msgspec

from entresol import _native
from entresol._native import (
    CreatedAccessList,
    ExecutionResult,
    Overlay,
    Tracer,
    call_output,
    estimate_l1_to_l2,
    run_call,
)
from entresol.errors import (
    ExecutionFailed,
    InvalidTransaction,
    MalformedValue,
    MintOverflow,
    TransactionRuleBroken,
)
from entresol.errors.base import without_frames
from entresol.execution.console import ConsoleCapture
from entresol.execution.evm_env import EvmEnv, overlay_on
from entresol.execution.limits import DEFAULT_LIMITS, CallBudget, CallLimits
from entresol.execution.overrides import BlockOverrides, override
from entresol.execution.reverts import failure_of
from entresol.primitives.bytecode import byte_counts
from entresol.primitives.l1_to_l2_gas import max_gas_limit, min_gas_limit
from entresol.primitives.transactions import Access, Authorization, PriorityTransaction
from entresol.primitives.transactions.zk import DEFAULT_GAS_PER_PUBDATA
from entresol.primitives.values import Address, Hash32

_NO_SENDER: Final = Address.zero()


class ZkCall(msgspec.Struct, frozen=True, kw_only=True):
    """Fields that only a transaction of type 0x71 has."""

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
    """Fields of type 0x71, for estimates and traces; a call only pays for what it publishes."""

    def __post_init__(self) -> None:
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


class Estimate(msgspec.Struct, frozen=True):
    """A sufficient gas limit, and how many runs it took to find it."""

    gas: int
    runs: int


class Unfunded(msgspec.Struct, frozen=True, kw_only=True):
    """Calls that have an estimate although their sender cannot pay: transfers, as in anvil, or everything, as in Hardhat."""

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
        raise TransactionRuleBroken("too large to publish", len(request.data), most)
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


def create_access_list(
    evm_env: EvmEnv, request: CallRequest, limits: CallLimits = DEFAULT_LIMITS
) -> CreatedAccessList:
    """Return what `request` touches beside sender, target and precompiles, and what it declares itself."""
    return _native.create_access_list(evm_env, request, limits.gas_cap, limits=limits.native())


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
