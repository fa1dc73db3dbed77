"""Limits on executions: gas, time, cancellation and trace size."""

from __future__ import annotations

import threading

import pytest

from entresol import errors
from entresol._native import CancelFlag, Limits, Snapshot, Tracer, call
from tests.support.evm.in_memory_state import BLOCK, RULES, InMemoryState, to_contract

LOOP = "5b 5f 56"
FOREVER = 10**15


def endless(limits: Limits, tracer: Tracer | None = None) -> Snapshot:
    """Run an endless loop under `limits`, and return the state it ran on if it ends."""
    snapshot = Snapshot(InMemoryState.with_contract(LOOP))
    call(snapshot, RULES, BLOCK, to_contract(gas_limit=FOREVER), limits=limits, tracer=tracer)
    return snapshot


def test_a_loop_stops_at_its_gas_limit() -> None:
    with pytest.raises(errors.GasBudgetSpent, match=r"^the gas budget is spent$"):
        endless(Limits(gas=100_000))


def test_a_loop_stops_at_its_deadline() -> None:
    with pytest.raises(errors.DeadlinePassed, match=r"^the execution took too long$"):
        endless(Limits(seconds=0.01))


def test_a_loop_stops_when_another_thread_sets_the_flag() -> None:
    flag = CancelFlag()
    timer = threading.Timer(0.01, flag.set)
    timer.start()
    with pytest.raises(errors.ExecutionStopped, match=r"^the execution was cancelled$"):
        endless(Limits(cancel=flag))
    timer.join()
    assert flag.is_set


@pytest.mark.parametrize("options", [b"{}", b'{"tracer": "callTracer"}'])
def test_the_limits_hold_under_a_tracer(options: bytes) -> None:
    with pytest.raises(errors.DeadlinePassed):
        endless(Limits(seconds=0.01), Tracer(options))


def test_a_stopped_execution_leaves_the_snapshot_usable() -> None:
    snapshot = Snapshot(InMemoryState.with_contract("36 15 6006 57 00 5b 6006 56"))
    with pytest.raises(errors.GasBudgetSpent):
        call(snapshot, RULES, BLOCK, to_contract(gas_limit=FOREVER), limits=Limits(gas=10**5))
    result = call(snapshot, RULES, BLOCK, to_contract(b"\x01"), limits=Limits(gas=10**5))
    assert result.status == "success"


def test_a_limit_does_not_change_what_an_execution_sees() -> None:
    gas_left = "5a 5f 52 6020 5f f3"
    snapshot = Snapshot(InMemoryState.with_contract(gas_left))
    free = call(snapshot, RULES, BLOCK, to_contract())
    limited = call(snapshot, RULES, BLOCK, to_contract(), limits=Limits(gas=500_000, seconds=60))
    assert limited.output == free.output


def test_struct_logs_stop_at_their_memory_limit() -> None:
    with pytest.raises(errors.TraceTooLarge, match="more than 10000000 bytes"):
        endless(Limits(trace_bytes=10_000_000), Tracer(b'{"enableMemory": true}'))


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_a_time_out_of_range_is_rejected(seconds: float) -> None:
    with pytest.raises(ValueError, match="seconds is from 0"):
        Limits(seconds=seconds)
