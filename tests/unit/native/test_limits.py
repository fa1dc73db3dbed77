"""Limits on executions: gas, time, cancellation and trace size."""

from __future__ import annotations

import pytest

from entresol import errors
from entresol._native import Limits, Snapshot, Tracer, call
from tests.support.evm.in_memory_state import BLOCK, RULES, InMemoryState, to_contract

LOOP = "5b 5f 56"
FOREVER = 10**15


def endless(limits: Limits, tracer: Tracer | None = None) -> Snapshot:
    """Run an endless loop under `limits`, and return the state it ran on if it ends."""
    snapshot = Snapshot(InMemoryState.with_contract(LOOP))
    call(snapshot, RULES, BLOCK, to_contract(gas_limit=FOREVER), limits=limits, tracer=tracer)
    return snapshot


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
