"""Calls that build on each other."""

from __future__ import annotations

import pytest

from entresol._native import Rules, Snapshot
from entresol.errors import DeadlinePassed, ExecutionReverted, GasBudgetSpent, InsufficientFunds
from entresol.execution.calls import Bundle, CallRequest, call_many
from entresol.execution.evm_env import BlockEnv, EvmEnv
from entresol.execution.limits import CallLimits
from entresol.execution.overrides import BlockOverrides
from entresol.primitives.values import Address
from tests.support.evm.in_memory_state import ALICE, BOB, CONTRACT, ETHER, InMemoryState
from tests.support.hex_data import word

COUNT = "5f54600101805f555f5260205ff3"
NUMBER = "435f5260205ff3"
BLOCK = BlockEnv(number=7, timestamp=1_000, gas_limit=30_000_000)

TO, SENDER, OTHER = Address(CONTRACT), Address(ALICE), Address(BOB)
ASK = CallRequest(sender=SENDER, to=TO)


def evm_env(code: str) -> EvmEnv:
    return EvmEnv(Snapshot(InMemoryState.with_contract(code)), Rules(270), BLOCK)


def test_each_call_sees_what_the_ones_before_it_did() -> None:
    stage = evm_env(COUNT)
    bundles = [Bundle(calls=(ASK, ASK)), Bundle(calls=(ASK,))]
    assert call_many(stage, bundles) == [[word(1), word(2)], [word(3)]]
    assert call_many(stage, bundles) == [[word(1), word(2)], [word(3)]]
    assert stage.state.slot(TO, word(0)) == word(0)


def test_a_bundle_has_a_block_of_its_own() -> None:
    bundles = [Bundle(calls=(ASK,), block=BlockOverrides(number=99)), Bundle(calls=(ASK,))]
    assert call_many(evm_env(NUMBER), bundles) == [[word(99)], [word(7)]]


def test_a_failure_leaves_the_state_to_the_next_call() -> None:
    # Counts, and reverts if it was sent anything.
    code = "5f5460010180600055346013575f5260205ff35b5f5ffd"
    failing = CallRequest(sender=SENDER, to=TO, value=1)
    ((first, second, third),) = call_many(evm_env(code), [Bundle(calls=(ASK, failing, ASK))])
    assert (first, third) == (word(1), word(2))
    assert isinstance(second, ExecutionReverted)


def test_a_call_that_cannot_begin_is_an_ending_too() -> None:
    poor = CallRequest(sender=OTHER, to=TO, value=ETHER)
    gift = CallRequest(sender=SENDER, to=OTHER, value=ETHER)
    ((first, second, third),) = call_many(evm_env(""), [Bundle(calls=(poor, gift, poor))])
    assert isinstance(first, InsufficientFunds)
    assert (second, third) == (b"", b"")


@pytest.mark.parametrize(
    ("limits", "error"),
    [
        (CallLimits(seconds=0), DeadlinePassed),
        (CallLimits(seconds=0.01, gas_cap=10**15), DeadlinePassed),
        (CallLimits(gas_budget=40_000), GasBudgetSpent),
    ],
)
def test_limits_are_for_all_calls_together(limits: CallLimits, error: type[Exception]) -> None:
    with pytest.raises(error):
        call_many(evm_env("5b5f56"), [Bundle(calls=(ASK, ASK))], limits)
