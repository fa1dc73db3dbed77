"""`eth_estimateGas`: search the smallest gas limit with which a transaction succeeds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from entresol._native import ExecutionResult
from entresol.errors import (
    AccountRejection,
    EstimateRejection,
    GasAllowanceExceeded,
    InsufficientFunds,
    IntrinsicGasTooLow,
    NotEnoughBalanceForFeeValue,
)
from entresol.execution.call.account_call import (
    STEPS_MARGIN_PERCENT,
    AccountCall,
    account_call,
    owner_margin,
)
from entresol.execution.call.call import (
    TRANSFER_GAS,
    CallRequest,
    affordable_gas,
    call_tx_env,
    run_tx_env,
)
from entresol.execution.call.limits import DEFAULT_LIMITS, CallBudget, CallLimits
from entresol.execution.console import ConsoleCapture
from entresol.execution.evm_env import EvmEnv
from entresol.execution.reverts import failure_of
from entresol.primitives.bytecode import EMPTY_CODE_HASH

# The search stops when two limits are this close, as logarithms: 1.5 % apart.
_STEP: Final = -math.log(0.985)

Runner: TypeAlias = Callable[[int], ExecutionResult]


class Estimate(msgspec.Struct, frozen=True):
    """A sufficient gas limit, and how many runs it took to find it."""

    gas: int
    runs: int


def estimate_gas(
    evm_env: EvmEnv,
    request: CallRequest,
    limits: CallLimits = DEFAULT_LIMITS,
    *,
    unfunded_transfers: bool = False,
    console: ConsoleCapture | None = None,
) -> Estimate:
    """Return the gas limit that `request` needs as a transaction.

    `smallest_gas` defines it. Without a price the sender pays nothing and contracts see the base
    fee as GASPRICE, because no transaction can offer less; with one the estimate is bounded by what the
    sender can afford. A tip alone is no price: nobody knows the fee cap yet that it will be a part of.
    With `unfunded_transfers`, a transfer that its sender cannot pay has an estimate all the same, as in anvil.
    If a contract account sends it or a paymaster pays, the steps of such a transaction are estimated. What type 0x71
    cannot pay is rejected in Era's words, as if it was sent.
    """
    try:
        return _estimate_gas(evm_env, request, limits, console)
    except (InsufficientFunds, GasAllowanceExceeded) as error:
        if request.zk is not None and (lack := _lack_of_funds(evm_env, request, error)) is not None:
            raise lack from error
        if unfunded_transfers and _is_transfer(evm_env, request):
            return Estimate(TRANSFER_GAS, 0)
        raise


def _lack_of_funds(
    evm_env: EvmEnv, request: CallRequest, error: InsufficientFunds | GasAllowanceExceeded
) -> NotEnoughBalanceForFeeValue | None:
    """Return what a payer lacks for a transaction of type 0x71; None if something else limits its gas."""
    if isinstance(error, InsufficientFunds):
        fee = error.cost - request.value
        return NotEnoughBalanceForFeeValue(error.balance, fee, request.value)
    if request.fee_cap == 0 or error.allowance < affordable_gas(evm_env, request):
        return None
    # Nobody knows the fee, but it is more than the sender can afford.
    fee, account = (error.allowance + 1) * request.fee_cap, evm_env.state.account(request.sender)
    balance = 0 if account is None else account.balance
    return NotEnoughBalanceForFeeValue(balance, fee, request.value)


def _estimate_gas(
    evm_env: EvmEnv, request: CallRequest, limits: CallLimits, console: ConsoleCapture | None
) -> Estimate:
    steps = account_call(evm_env, request)
    if steps is not None:
        found = _estimate_steps(steps, request, limits, console)
    else:
        found = _estimate_call(evm_env, request, limits, console)
    return Estimate(found.gas + owner_margin(evm_env, request, found.gas), found.runs)


def _estimate_steps(
    steps: AccountCall, request: CallRequest, limits: CallLimits, console: ConsoleCapture | None
) -> Estimate:
    budget = CallBudget(limits)

    def run(limit: int) -> ExecutionResult:
        result = steps.run(limit, budget.left())
        budget.spend(result)
        return result

    cap = _allowed_gas(steps.env, request, limits)
    try:
        found = smallest_gas(run if console is None else _first_recorded(run, console), cap)
    except AccountRejection as rejection:
        raise EstimateRejection(rejection) from rejection
    gas = found.gas * (100 + STEPS_MARGIN_PERCENT) // 100
    return Estimate(min(gas, cap), found.runs)


def _estimate_call(
    evm_env: EvmEnv, request: CallRequest, limits: CallLimits, console: ConsoleCapture | None
) -> Estimate:
    if not request.fee_cap and request.max_fee_per_gas is None:
        request = msgspec.structs.replace(request, max_priority_fee_per_gas=None)
    cap = _max_gas(evm_env, request, limits)
    runner = _runner(evm_env, request, limits)
    if console is not None:
        runner = _first_recorded(runner, console)
    if cap < TRANSFER_GAS or not _is_transfer(evm_env, request):
        return smallest_gas(runner, cap)
    if _Probe(runner).succeeds(TRANSFER_GAS):
        return Estimate(TRANSFER_GAS, 1)
    found = smallest_gas(runner, cap)
    return Estimate(found.gas, found.runs + 1)


def smallest_gas(runner: Runner, cap: int) -> Estimate:
    """Return the smallest gas limit up to `cap`, and up to 1.5 %, with which `runner` succeeds.

    A run that succeeds but spends less than the run at `cap` is not accepted, since it did something
    else: a contract that continues when an inner call runs out of gas would otherwise get too little
    for that call. If only `cap` itself is accepted, the contract spends whatever it gets, and then
    every success is accepted.

    Raises the failure of the run at `cap`; `GasAllowanceExceeded` if that runs out of gas.
    """
    probe = _Probe(runner)
    need = probe.at_cap(cap)
    gas = _search(lambda limit: probe.spends(limit, need), need - 1, cap)
    if gas == cap and probe.lowest_success < cap:
        gas = _search(probe.succeeds, _intrinsic_gas(runner) - 1, probe.lowest_success)
    return Estimate(gas, probe.runs)


def _search(works: Callable[[int], bool], low: int, high: int) -> int:
    """Return a limit that works and is at most 1.5 % above one that does not.

    `low` is known to fail and `high` to work; `low + 1` is the likeliest result.
    """
    if low + 1 < high:
        if works(low + 1):
            return low + 1
        low += 1
    # A little more than the likeliest limit usually suffices: one step for a contract that calls another.
    stride = 1
    while high - low > 1 + high * 15 // 1000:
        steps_between = math.ceil(math.log(high / low) / _STEP)
        step = min(stride, steps_between // 2)
        middle = max(low + 1, int(low * math.exp(step * _STEP)))
        if works(middle):
            high = middle
        else:
            low, stride = middle, stride * 2
    return high


class _Probe:
    """Runs with given gas limits, and records the lowest that succeeded."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self.runs = 0
        self.lowest_success = 0

    def at_cap(self, cap: int) -> int:
        """Return what a run at the highest limit spends."""
        self.lowest_success = cap
        self.runs += 1
        result = _attempt(self._runner, cap)
        if result is None or result.reason.startswith("out of gas"):
            raise GasAllowanceExceeded(cap)
        failure = failure_of(result)
        if failure is not None:
            raise failure
        return _spent(result)

    def spends(self, limit: int, need: int) -> bool:
        """Return whether a run succeeds and spends at least `need`."""
        result = self._try(limit)
        return result is not None and result.status == "success" and _spent(result) >= need

    def succeeds(self, limit: int) -> bool:
        """Return whether a run succeeds."""
        return self.spends(limit, 0)

    def _try(self, limit: int) -> ExecutionResult | None:
        self.runs += 1
        try:
            result = _attempt(self._runner, limit)
        except AccountRejection:
            # With more gas the account and the paymaster agree.
            return None
        if result is not None and result.status == "success":
            self.lowest_success = min(self.lowest_success, limit)
        return result


def _attempt(runner: Runner, limit: int) -> ExecutionResult | None:
    """Return the result, or None if the limit is below the intrinsic gas."""
    try:
        return runner(limit)
    except IntrinsicGasTooLow:
        return None


def _spent(result: ExecutionResult) -> int:
    """Return the gas that a run needed: before refunds, and at least the calldata floor."""
    return max(result.gas_spent, result.gas_used)


def _intrinsic_gas(runner: Runner) -> int:
    try:
        runner(0)
    except IntrinsicGasTooLow as rejection:
        return rejection.needed
    return TRANSFER_GAS


def _runner(evm_env: EvmEnv, request: CallRequest, limits: CallLimits) -> Runner:
    budget = CallBudget(limits)
    tx_env = call_tx_env(evm_env, request, 0, free_price=evm_env.block.base_fee)

    def run(limit: int) -> ExecutionResult:
        result = run_tx_env(evm_env, request, tx_env.with_gas_limit(limit), budget.left())
        budget.spend(result)
        return result

    return run


def _first_recorded(runner: Runner, console: ConsoleCapture) -> Runner:
    """Record what the first run logs; the others repeat it."""
    is_first = True

    def run(limit: int) -> ExecutionResult:
        nonlocal is_first
        result = runner(limit)
        if is_first:
            console.record(result)
        is_first = False
        return result

    return run


def _max_gas(evm_env: EvmEnv, request: CallRequest, limits: CallLimits) -> int:
    """Return the highest gas limit that block, fork, caller and sender allow."""
    cap = _allowed_gas(evm_env, request, limits)
    return cap if request.fee_cap == 0 else min(cap, affordable_gas(evm_env, request))


def _allowed_gas(evm_env: EvmEnv, request: CallRequest, limits: CallLimits) -> int:
    cap = min(evm_env.block.gas_limit, limits.gas_cap)
    if request.gas is not None and request.gas >= TRANSFER_GAS:
        cap = min(cap, request.gas)
    if (transaction_cap := evm_env.rules.transaction_gas_limit) is not None:
        cap = min(cap, transaction_cap)
    return cap


def _is_transfer(evm_env: EvmEnv, request: CallRequest) -> bool:
    if request.data or request.to is None:
        return False
    account = evm_env.state.account(request.to)
    return account is None or account.code_hash == EMPTY_CODE_HASH
