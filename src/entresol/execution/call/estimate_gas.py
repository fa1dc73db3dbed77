"""The smallest gas limit with which a transaction does its work."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from entresol._native import ExecutionResult
from entresol.errors import GasAllowanceExceeded, IntrinsicGasTooLow
from entresol.execution.call.call import (
    DEFAULT_LIMITS,
    TRANSFER_GAS,
    CallLimits,
    CallRequest,
    Meter,
    affordable_gas,
    call_tx_env,
    run_tx_env,
)
from entresol.execution.evm_env import EvmEnv
from entresol.execution.reverts import failure_of
from entresol.primitives.bytecode import EMPTY_CODE_HASH

MAX_TRANSACTION_GAS: Final = 2**24
"""The most gas that a transaction may ask for from the fork Osaka on."""

_CAPPED_FORKS: Final = frozenset({"osaka"})

# Between two limits that far apart, as logarithms, one is good enough: it is 1.5 % from the other.
_STEP: Final = -math.log(0.985)

Runner: TypeAlias = Callable[[int], ExecutionResult]


class Estimate(msgspec.Struct, frozen=True):
    """A gas limit that suffices, and how many runs it took to find it."""

    gas: int
    runs: int


def estimate_gas(
    evm_env: EvmEnv, request: CallRequest, limits: CallLimits = DEFAULT_LIMITS
) -> Estimate:
    """Return the gas limit that `request` needs as a transaction.

    See `smallest_gas` for what that is. Without a price the sender pays nothing and the contracts
    see the base fee as GASPRICE, because no transaction offers less; with one the estimate keeps
    to what the sender can afford.
    """
    cap = _highest(evm_env, request, limits)
    runner = _runner(evm_env, request, limits)
    if cap < TRANSFER_GAS or not _is_transfer(evm_env, request):
        return smallest_gas(runner, cap)
    if _Probe(runner).succeeds(TRANSFER_GAS):
        return Estimate(TRANSFER_GAS, 1)
    found = smallest_gas(runner, cap)
    return Estimate(found.gas, found.runs + 1)


def smallest_gas(runner: Runner, cap: int) -> Estimate:
    """Return the smallest gas limit up to `cap`, and up to 1.5 %, with which `runner` succeeds.

    A run that succeeds for less than it spends at `cap` does not count, since it did something
    else: a contract that goes on when a call of its own runs out of gas would otherwise get too
    little for that call. Only if nothing short of `cap` counts is the contract one that spends
    whatever it gets, and then every success counts.

    Raises what the run at `cap` ended in if it fails, `GasAllowanceExceeded` if it lacks gas.
    """
    probe = _Probe(runner)
    need = probe.at_the_top(cap)
    gas = _search(lambda limit: probe.spends(limit, need), need - 1, cap)
    if gas == cap and probe.lowest_success < cap:
        gas = _search(probe.succeeds, _intrinsic_gas(runner) - 1, probe.lowest_success)
    return Estimate(gas, probe.runs)


def _search(works: Callable[[int], bool], low: int, high: int) -> int:
    """Return a limit that works and is at most 1.5 % above one that does not.

    `low` does not work, the next one is the likeliest to, and `high` does work.
    """
    if low + 1 < high:
        if works(low + 1):
            return low + 1
        low += 1
    # Little more than the likeliest limit mostly does: one step for a contract that calls another.
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
    """Tries gas limits, and remembers the lowest with which a run succeeded."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self.runs = 0
        self.lowest_success = 0

    def at_the_top(self, cap: int) -> int:
        """Return what a run spends that lacks nothing."""
        self.lowest_success = cap
        outcome = self._try(cap)
        if outcome is None or outcome.reason.startswith("out of gas"):
            raise GasAllowanceExceeded(cap)
        failure = failure_of(outcome)
        if failure is not None:
            raise failure
        return _spent(outcome)

    def spends(self, limit: int, need: int) -> bool:
        """Tell whether a run succeeds and spends at least `need`."""
        outcome = self._try(limit)
        return outcome is not None and outcome.status == "success" and _spent(outcome) >= need

    def succeeds(self, limit: int) -> bool:
        """Tell whether a run succeeds."""
        return self.spends(limit, 0)

    def _try(self, limit: int) -> ExecutionResult | None:
        self.runs += 1
        outcome = _attempt(self._runner, limit)
        if outcome is not None and outcome.status == "success":
            self.lowest_success = min(self.lowest_success, limit)
        return outcome


def _attempt(runner: Runner, limit: int) -> ExecutionResult | None:
    """Return the outcome, or None if the limit does not even pay for being included."""
    try:
        return runner(limit)
    except IntrinsicGasTooLow:
        return None


def _spent(outcome: ExecutionResult) -> int:
    """Return the gas that had to be there: before the refund, and at least what data costs."""
    return max(outcome.gas_spent, outcome.gas_used)


def _intrinsic_gas(runner: Runner) -> int:
    try:
        runner(0)
    except IntrinsicGasTooLow as rejection:
        return rejection.needed
    return TRANSFER_GAS


def _runner(evm_env: EvmEnv, request: CallRequest, limits: CallLimits) -> Runner:
    meter = Meter(limits)
    message = call_tx_env(request, 0, free_price=evm_env.block.base_fee)

    def run(limit: int) -> ExecutionResult:
        outcome = run_tx_env(evm_env, request, message.with_gas_limit(limit), meter.left())
        meter.count(outcome)
        return outcome

    return run


def _highest(evm_env: EvmEnv, request: CallRequest, limits: CallLimits) -> int:
    """Return the highest gas limit that the block, the fork, the caller and the sender allow."""
    cap = min(evm_env.block.gas_limit, limits.gas_cap)
    if request.gas is not None and request.gas >= TRANSFER_GAS:
        cap = min(cap, request.gas)
    if evm_env.rules.fork in _CAPPED_FORKS:
        cap = min(cap, MAX_TRANSACTION_GAS)
    return cap if request.fee_cap == 0 else min(cap, affordable_gas(evm_env, request))


def _is_transfer(evm_env: EvmEnv, request: CallRequest) -> bool:
    if request.data or request.to is None:
        return False
    account = evm_env.state.account(request.to)
    return account is None or account.code_hash == EMPTY_CODE_HASH
