"""Limits on executions: what takes long without a loop is priced before it starts, and others are stopped."""

from __future__ import annotations

import threading

import pytest

from entresol import errors
from entresol._native import (
    BlockEnv,
    CancelFlag,
    Checks,
    ExecutionResult,
    Limits,
    Rules,
    Snapshot,
    Tracer,
    TxEnv,
    execute,
)
from entresol.offload import POLICY
from tests.support.evm.in_memory_state import ALICE, CONTRACT, InMemoryState
from tests.support.evm.long_programs import INSTRUCTIONS, PRECOMPILES, SHORT, Program

BLOCK = BlockEnv(number=300, timestamp=1, gas_limit=1 << 40)
CHECKS = Checks(base_fee=False, fees=False, nonce=False, sender_code=False, gas_cap=False)
CALL_GAS = 50_000_000


def run(program: Program, gas_limit: int, limits: Limits | None = None) -> ExecutionResult:
    world = InMemoryState.with_contract(program.code)
    message = TxEnv(sender=ALICE, to=CONTRACT, data=program.data, gas_limit=gas_limit)
    rules = Rules(270, program.fork)
    return execute(Snapshot(world), rules, BLOCK, message, checks=CHECKS, limits=limits)


@pytest.mark.parametrize("name", PRECOMPILES | INSTRUCTIONS)
def test_what_takes_long_is_stopped_within_what_the_event_loop_allows(name: str) -> None:
    program = (PRECOMPILES | INSTRUCTIONS)[name]
    with pytest.raises(errors.GasBudgetSpent):
        run(program, CALL_GAS, Limits(gas=POLICY.call_gas))


@pytest.mark.parametrize("name", PRECOMPILES | INSTRUCTIONS | SHORT)
def test_a_limit_that_is_not_reached_changes_nothing(name: str) -> None:
    program = (PRECOMPILES | INSTRUCTIONS | SHORT)[name]
    free, limited = run(program, 1_000_000), run(program, 1_000_000, Limits(gas=1 << 40))
    assert (free.status, free.reason, free.output) == (
        limited.status,
        limited.reason,
        limited.output,
    )
    assert free.gas_spent == limited.gas_spent
    assert free.budget_spent == limited.budget_spent >= free.gas_spent


@pytest.mark.parametrize("name", SHORT)
def test_instructions_that_do_not_check_end_by_the_size_of_the_code(name: str) -> None:
    assert run(SHORT[name], CALL_GAS).gas_spent < 1_000_000


def test_a_signature_of_p_256_takes_more_of_a_budget_than_its_gas() -> None:
    result = run(PRECOMPILES["P256VERIFY"], 100_000)
    assert result.budget_spent > 10 * result.gas_spent


def test_the_flag_of_a_thread_cancels_what_runs_there() -> None:
    flag = CancelFlag()
    timer = threading.Timer(0.01, flag.set)
    timer.start()
    with flag, pytest.raises(errors.ExecutionStopped, match="cancelled"):
        run(INSTRUCTIONS["a loop"], 1 << 50)
    timer.join()


def test_the_flag_of_a_thread_does_not_outlive_its_context() -> None:
    flag = CancelFlag()
    flag.set()
    with flag:
        pass
    assert run(INSTRUCTIONS["a loop"], 100_000).status == "halt"


def endless(limits: Limits, tracer: Tracer | None = None) -> None:
    world = InMemoryState.with_contract("5b 5f 56")
    message = TxEnv(sender=ALICE, to=CONTRACT, gas_limit=10**15)
    execute(
        Snapshot(world), Rules(270), BLOCK, message, checks=CHECKS, limits=limits, tracer=tracer
    )


def test_a_loop_stops_at_its_deadline() -> None:
    with pytest.raises(errors.DeadlinePassed, match=r"^the execution took too long$"):
        endless(Limits(seconds=0.01))


@pytest.mark.parametrize("options", [b"{}", b'{"tracer": "callTracer"}'])
def test_the_limits_hold_under_a_tracer(options: bytes) -> None:
    with pytest.raises(errors.DeadlinePassed):
        endless(Limits(seconds=0.01), Tracer(options))


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_a_time_out_of_range_is_rejected(seconds: float) -> None:
    with pytest.raises(ValueError, match="seconds is from 0"):
        Limits(seconds=seconds)
