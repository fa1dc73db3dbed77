"""`eth_call`: execute an unsigned transaction against a state, and discard its changes."""

from __future__ import annotations

from typing import Final

import msgspec

from entresol._native import Checks, ExecutionResult, Limits, Tracer, TxEnv, blob_base_fee, execute
from entresol.errors import (
    CallGasSpent,
    InsufficientFunds,
    MalformedValue,
)
from entresol.execution.call.limits import DEFAULT_LIMITS, CallLimits
from entresol.execution.console import ConsoleCapture
from entresol.execution.evm_env import EvmEnv, access_items, authorization_items
from entresol.execution.reverts import failure_of
from entresol.primitives.transactions import Access, Authorization
from entresol.primitives.transactions.zk import DEFAULT_GAS_PER_PUBDATA
from entresol.primitives.values import Address, Hash32

TRANSFER_GAS: Final = 21_000
"""The gas of a plain transfer, the cheapest transaction."""

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

    @property
    def fee_cap(self) -> int:
        """The maximum wei offered for a unit of gas; 0 for a free call."""
        return self.gas_price or self.max_fee_per_gas or 0


_FREE: Final = Checks(base_fee=False, fees=False, nonce=False, sender_code=False, gas_cap=False)
_PAID: Final = Checks(nonce=False, sender_code=False, gas_cap=False)


def call(
    evm_env: EvmEnv,
    request: CallRequest,
    limits: CallLimits = DEFAULT_LIMITS,
    console: ConsoleCapture | None = None,
) -> bytes:
    """Return the output of a call, or raise the `ExecutionFailed` that it ended in."""
    result = run(evm_env, request, limits)
    if console is not None:
        console.record(result)
    failure = failure_of(result)
    if failure is None:
        return result.output
    if result.gas_spent == limits.gas_cap and result.reason.startswith("out of gas"):
        raise CallGasSpent(limits.gas_cap)
    raise failure


def run(
    evm_env: EvmEnv,
    request: CallRequest,
    limits: CallLimits = DEFAULT_LIMITS,
    tracer: Tracer | None = None,
) -> ExecutionResult:
    """Execute a call and return its result, a success or a failure.

    The gas limit is the one it names, or else all that its sender can afford, up to the cap.
    """
    tx_env = call_tx_env(evm_env, request, gas_for(evm_env, request, limits.gas_cap))
    budget = Limits(gas=limits.gas_budget, seconds=limits.seconds, cancel=limits.cancel)
    return run_tx_env(evm_env, request, tx_env, budget, tracer)


def gas_for(evm_env: EvmEnv, request: CallRequest, cap: int) -> int:
    """Return the gas limit of a call."""
    if request.gas is not None:
        return min(request.gas, cap)
    return cap if request.fee_cap == 0 else min(cap, affordable_gas(evm_env, request))


def affordable_gas(evm_env: EvmEnv, request: CallRequest) -> int:
    """Return how much gas the sender can afford at the offered price, beside the value."""
    account = evm_env.state.account(request.sender)
    balance = 0 if account is None else account.balance
    gas = (balance - request.value) // request.fee_cap
    if gas < TRANSFER_GAS:
        raise InsufficientFunds(balance, request.value + TRANSFER_GAS * request.fee_cap)
    return gas


def call_tx_env(evm_env: EvmEnv, request: CallRequest, gas: int, free_price: int = 0) -> TxEnv:
    """Return the `TxEnv` of `request`; GASPRICE is `free_price` if the call is free."""
    access_list, authorizations = request.access_list, request.authorizations
    tip = request.max_priority_fee_per_gas or 0
    try:
        return TxEnv(
            sender=request.sender,
            gas_limit=gas,
            to=request.to,
            value=request.value,
            data=request.data,
            gas_price=request.fee_cap or (0 if tip else free_price),
            priority_fee=tip if request.has_fee_cap else None,
            chain_id=request.chain_id,
            access_list=None if access_list is None else access_items(access_list),
            authorizations=None if authorizations is None else authorization_items(authorizations),
            blob_hashes=request.blob_hashes,
            blob_fee_cap=_blob_fee_cap(evm_env, request),
            published=None if request.zk is None else request.zk.published,
        )
    except (OverflowError, ValueError) as error:
        raise MalformedValue("a number of the call is too large for a transaction") from error


def _blob_fee_cap(evm_env: EvmEnv, request: CallRequest) -> int:
    """Return the blob fee cap of a call: by default the price of the block, as clients estimate before they set one."""
    if request.blob_hashes is None:
        return 0
    if request.max_fee_per_blob_gas is not None:
        return request.max_fee_per_blob_gas
    block = evm_env.block
    if block.blob_base_fee is not None:
        return block.blob_base_fee
    return blob_base_fee(evm_env.rules, block.fork_fields.excess_blob_gas or 0) or 0


def run_tx_env(
    evm_env: EvmEnv,
    request: CallRequest,
    tx_env: TxEnv,
    limits: Limits | None,
    tracer: Tracer | None = None,
) -> ExecutionResult:
    """Execute `tx_env`, which was built from `request`, under the checks of a call."""
    checks = _PAID if request.fee_cap else _FREE
    return execute(
        evm_env.state,
        evm_env.rules,
        evm_env.block.native,
        tx_env,
        checks=checks,
        limits=limits,
        tracer=tracer,
    )
