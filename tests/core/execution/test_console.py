from __future__ import annotations

import pytest

from entresol._native import Snapshot
from entresol.errors import ExecutionReverted, GasBudgetSpent
from entresol.execution.calls import CallRequest, call, estimate_gas
from entresol.execution.console import BlockConsole, ConsoleCalls, ConsoleCapture
from entresol.execution.evm_env import BlockEnv, EvmEnv
from entresol.execution.limits import CallLimits
from entresol.primitives.values import Address
from tests.support.evm.assembler import assemble
from tests.support.evm.console import CONSOLE, console_call, logging, logging_code
from tests.support.evm.in_memory_state import ALICE, CONTRACT, RULES, InMemoryState, run

HELLO = console_call("log(string)", "hello")
WORLD = console_call("log(string)", "world")
REQUEST = CallRequest(sender=Address(ALICE), to=Address(CONTRACT))
LOOP = "loop: 0 0 4 0 0x" + CONSOLE.hex() + " gas staticcall pop @loop jump"


def env_of(code: bytes) -> EvmEnv:
    block = BlockEnv(number=10, timestamp=1_000, gas_limit=30_000_000)
    return EvmEnv(Snapshot(InMemoryState.with_contract(code.hex())), RULES, block)


class Reports:
    """Collects what is reported."""

    def __init__(self) -> None:
        self.all: list[tuple[str, ConsoleCalls]] = []

    def __call__(self, method: str, calls: ConsoleCalls) -> None:
        self.all.append((method, calls))


def test_the_calls_of_an_execution_are_recorded_in_order() -> None:
    assert ConsoleCalls.of(run(logging_code(HELLO, WORLD).hex())) == ((HELLO, WORLD), 0)


def test_a_loop_of_calls_is_cut() -> None:
    calls = ConsoleCalls.of(run(assemble(LOOP).hex()))
    assert len(calls.recorded) == 1_000
    assert calls.dropped > 1_000


def test_a_call_reports_once() -> None:
    reports, env = Reports(), env_of(logging_code(HELLO))
    capture = ConsoleCapture("eth_call", reports)
    capture.reporting(lambda limits: call(env, REQUEST, limits, capture))(CallLimits())
    assert reports.all == [("eth_call", ((HELLO,), 0))]


def test_a_failed_call_reports() -> None:
    reports, env = Reports(), env_of(logging_code(HELLO, then="0 0 revert"))
    capture = ConsoleCapture("eth_call", reports)
    with pytest.raises(ExecutionReverted):
        capture.reporting(lambda limits: call(env, REQUEST, limits, capture))(CallLimits())
    assert [calls.recorded for _, calls in reports.all] == [(HELLO,)]


def test_an_estimate_of_several_runs_reports_once() -> None:
    # Gas that depends on the gas there is needs a search.
    program = logging(HELLO, then="gas 100000 gt @few jumpi 1 0 sstore few: stop")
    reports, env = Reports(), env_of(assemble(program))
    capture, runs = ConsoleCapture("eth_estimateGas", reports), []

    def estimate(limits: CallLimits) -> int:
        found = estimate_gas(env, REQUEST, limits, console=capture)
        runs.append(found.runs)
        return found.gas

    capture.reporting(estimate)(CallLimits())
    assert runs[0] > 1
    assert [calls.recorded for _, calls in reports.all] == [(HELLO,)]


def test_a_run_that_starts_over_on_a_worker_does_not_report() -> None:
    reports, env = Reports(), env_of(logging_code(*[HELLO] * 20))
    capture, ran = ConsoleCapture("eth_estimateGas", reports), []

    def estimate(limits: CallLimits) -> None:
        for _ in range(2):
            estimate_gas(env, REQUEST, limits, console=capture)
            ran.append(capture.calls)
        if limits.gas_budget is not None:
            raise GasBudgetSpent("the budget")

    with pytest.raises(GasBudgetSpent):
        capture.reporting(estimate)(CallLimits(gas_budget=10**6))
    assert (len(ran[0].recorded), reports.all) == (20, [])
    capture.reporting(estimate)(CallLimits())
    assert len(reports.all) == 1


@pytest.mark.parametrize(
    ("program", "kept"), [(logging_code(b"\x01" * 60_000), 4), (assemble(LOOP), 2)]
)
def test_a_block_keeps_the_calls_of_its_first_transactions_and_counts_the_others(
    program: bytes, kept: int
) -> None:
    console, result = BlockConsole(), run(program.hex())
    for index in range(20):
        console.record(index, result)
    found = [index for index, calls in console.calls.items() if calls.recorded]
    assert found == list(range(kept))
    recorded, dropped = ConsoleCalls.of(result)
    assert console.calls[19] == ((), len(recorded) + dropped)
