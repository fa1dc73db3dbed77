"""Running a call: a question to the state, asked like a transaction but signed by nobody."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

from entresol._native import CancelFlag, Checks, ExecutionResult, Limits, Tracer, TxEnv, execute
from entresol.errors import (
    CallGasSpent,
    DeadlinePassed,
    InsufficientFunds,
    MalformedValue,
)
from entresol.execution.evm_env import EvmEnv
from entresol.execution.reverts import failure_of
from entresol.execution.tx_env import access_items, authorization_items
from entresol.primitives.transactions import Access, Authorization
from entresol.primitives.values import Address

T = TypeVar("T")

TRANSFER_GAS: Final = 21_000
"""What the cheapest transaction needs."""

_NO_SENDER: Final = Address.zero()


class CallRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A call as its author describes it; every field may be left out.

    A call that offers no fee is free: nothing is paid, and GASPRICE is 0 beside the block's real
    BASEFEE. One that offers a fee pays like a transaction, so the offer has to reach the base fee
    and the sender has to afford it. Either way the sender needs the value that the call sends. Its
    nonce counts for nothing, and the sender may be a contract.
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

    def __post_init__(self) -> None:
        """Reject a price of both kinds."""
        if self.gas_price is not None and self.has_fee_cap:
            raise MalformedValue(
                "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified"
            )

    @property
    def has_fee_cap(self) -> bool:
        """Whether the price is given as a fee cap and a tip."""
        return self.max_fee_per_gas is not None or self.max_priority_fee_per_gas is not None

    @property
    def fee_cap(self) -> int:
        """The most wei it offers for a unit of gas; 0 for a free call."""
        return self.gas_price or self.max_fee_per_gas or 0


class CallLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How far a question may go before it is stopped.

    `gas_cap` bounds the gas limit of each run. `gas_budget`, `seconds` and `cancel` bound all runs
    of a question together. One that outgrows its budget raises `GasBudgetSpent`: an event loop asks
    with a small budget first, and hands over to a thread what needs more.
    """

    gas_cap: int = 50_000_000
    seconds: float | None = 5.0
    gas_budget: int | None = None
    cancel: CancelFlag | None = None


DEFAULT_LIMITS: Final = CallLimits()

_FREE: Final = Checks(base_fee=False, fees=False, nonce=False, sender_code=False, gas_cap=False)
_PAID: Final = Checks(nonce=False, sender_code=False, gas_cap=False)


def call(evm_env: EvmEnv, request: CallRequest, limits: CallLimits = DEFAULT_LIMITS) -> bytes:
    """Return the output of a call, or raise the `ExecutionFailed` that it ended in."""
    outcome = run(evm_env, request, limits)
    failure = failure_of(outcome)
    if failure is None:
        return outcome.output
    if outcome.gas_spent == limits.gas_cap and outcome.reason.startswith("out of gas"):
        raise CallGasSpent(limits.gas_cap)
    raise failure


def run(
    evm_env: EvmEnv,
    request: CallRequest,
    limits: CallLimits = DEFAULT_LIMITS,
    tracer: Tracer | None = None,
) -> ExecutionResult:
    """Run a call and return its outcome, be it a success or not.

    It asks for the gas it names, or else for all that its sender can afford, up to the cap.
    """
    message = call_tx_env(request, gas_for(evm_env, request, limits.gas_cap))
    budget = Limits(gas=limits.gas_budget, seconds=limits.seconds, cancel=limits.cancel)
    return run_tx_env(evm_env, request, message, budget, tracer)


def gas_for(evm_env: EvmEnv, request: CallRequest, cap: int) -> int:
    """Return the gas limit of a call."""
    if request.gas is not None:
        return min(request.gas, cap)
    return cap if request.fee_cap == 0 else min(cap, affordable_gas(evm_env, request))


def affordable_gas(evm_env: EvmEnv, request: CallRequest) -> int:
    """Return how much gas the sender can pay for at the price it offers, beside the value."""
    account = evm_env.state.account(request.sender)
    balance = 0 if account is None else account.balance
    gas = (balance - request.value) // request.fee_cap
    if gas < TRANSFER_GAS:
        raise InsufficientFunds(balance, request.value + TRANSFER_GAS * request.fee_cap)
    return gas


def call_tx_env(request: CallRequest, gas: int, free_price: int = 0) -> TxEnv:
    """Return what the engine runs for `request`; a free call shows `free_price` as its GASPRICE."""
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
        )
    except (OverflowError, ValueError) as error:
        raise MalformedValue("a number of the call is too large for a transaction") from error


def run_tx_env(
    evm_env: EvmEnv,
    request: CallRequest,
    message: TxEnv,
    limits: Limits | None,
    tracer: Tracer | None = None,
) -> ExecutionResult:
    """Run `message`, made of `request`, under the checks of a call."""
    checks = _PAID if request.fee_cap else _FREE
    return execute(
        evm_env.state,
        evm_env.rules,
        evm_env.block.native,
        message,
        checks=checks,
        limits=limits,
        tracer=tracer,
    )


def within(limits: CallLimits, question: Callable[[CallLimits], T]) -> T:
    """Return the answer to `question`, or say which time it was allowed if that was too little."""
    try:
        return question(limits)
    except DeadlinePassed as error:
        raise DeadlinePassed(f"execution aborted (timeout = {limits.seconds:g}s)") from error


class Meter:
    """Measures several runs of one question against its limits."""

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits
        self._budget = limits.gas_budget
        self._deadline = None if limits.seconds is None else time.monotonic() + limits.seconds

    def left(self) -> Limits:
        """Return what is left for the next run."""
        seconds = None if self._deadline is None else self._deadline - time.monotonic()
        if seconds is not None and seconds <= 0:
            raise DeadlinePassed("the execution took too long")
        return Limits(gas=self._budget, seconds=seconds, cancel=self._limits.cancel)

    def count(self, outcome: ExecutionResult) -> None:
        """Take off what a run has used."""
        if self._budget is not None:
            self._budget = max(0, self._budget - outcome.gas_spent)
