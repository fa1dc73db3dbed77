from __future__ import annotations

import pytest

from entresol.contracts.abi_registry import AbiRegistry
from entresol.errors import ExecutionHalted, ExecutionReverted
from entresol.execution.console import ConsoleCalls
from entresol.primitives import abi
from entresol.primitives.records import TransactionResult
from entresol.terminal.details import MAX_EVENTS, LogDetails
from tests.support.evm.console import console_call

ABIS = AbiRegistry.of([[{"name": "set"}, {"type": "error", "name": "Bad"}]])
SET = abi.selector("set()")


@pytest.mark.parametrize(("verbosity", "shown"), [(0, None), (1, "set()"), (4, "set()")])
def test_a_call_is_shown_from_one_on(verbosity: int, shown: str | None) -> None:
    assert LogDetails(ABIS, verbosity).call(SET) == shown


@pytest.mark.parametrize(("verbosity", "count"), [(1, 0), (2, 1), (3, 1), (4, 0)])
def test_events_are_shown_unless_the_call_tree_has_them(verbosity: int, count: int) -> None:
    result = TransactionResult(succeeded=True, gas_used=1, logs=((bytes(20), (bytes(32),), b""),))
    events = LogDetails(ABIS, verbosity).events(result)
    assert events == [f"topic 0: 0x{'00' * 32}, data: 0x"] * count


def test_many_events_are_cut() -> None:
    logs = ((bytes(20), (), b""),) * (MAX_EVENTS + 5)
    events = LogDetails(ABIS, 2).events(TransactionResult(succeeded=True, gas_used=1, logs=logs))
    assert (len(events), events[-1]) == (MAX_EVENTS + 1, "… (5 more events are not shown)")


def test_a_failure_is_described_by_name() -> None:
    details = LogDetails(ABIS)
    bad = ExecutionReverted(abi.selector("Bad()"), "custom error 0x")
    assert details.failure(bad) == "execution reverted: Bad()"
    assert details.failure(ExecutionReverted(b"", None)) == "execution reverted"
    assert details.failure(ExecutionHalted("out of gas")) == "out of gas"
    assert details.failure(None) is None


def test_console_log_can_be_hidden() -> None:
    calls = ConsoleCalls((console_call("log(string)", "hi"),))
    assert LogDetails(ABIS).console(calls) == ["hi"]
    assert LogDetails(ABIS, shows_console=False).console(calls) == []
    assert LogDetails(ABIS).console(None) == []


@pytest.mark.parametrize(
    ("verbosity", "failed", "succeeded"), [(2, False, False), (3, True, False), (4, True, True)]
)
def test_the_verbosity_chooses_what_is_traced(
    verbosity: int, failed: bool, succeeded: bool
) -> None:
    details = LogDetails(ABIS, verbosity)
    assert details.wants_trace(succeeded=False) is failed
    assert details.wants_trace(succeeded=True) is succeeded
