"""Profiles of executions, decoded."""

from __future__ import annotations

from entresol.execution.profile import PROFILE, CodeProfile, Profile, decode_profile
from entresol.execution.tracing import TraceBudget, TraceLimits, trace_transaction
from tests.support.chain.api_client import INNER, OUTER, traced_chain
from tests.support.contracts.accounts import ScriptedWorld


def used(code: CodeProfile) -> int:
    return sum(gas for _, _, gas in code.steps) + sum(gas for _, gas in code.calls)


def test_a_transaction_has_its_codes_and_frames() -> None:
    with traced_chain() as chain:
        ledger = chain.client.chain.ledger
        budget = TraceBudget(TraceLimits())
        ran = trace_transaction(ledger.sealed_block(1), 0, PROFILE, budget)
    profile = decode_profile(ran.trace or b"")
    assert [code.addresses for code in profile.codes] == [[str(OUTER)], [str(INNER)]]
    outermost = next(frame for frame in profile.frames if frame.is_outermost)
    assert outermost.gas == [(used(profile.codes[outermost.code]), 1)]
    assert used(profile.codes[outermost.code]) == ran.gas_used - 21_000


def test_the_steps_of_an_account_that_is_a_contract_are_outermost_frames() -> None:
    world = ScriptedWorld()
    account = world.account()
    result = world.include(world.from_contract(account))
    assert result.succeeded
    budget = TraceBudget(TraceLimits())
    block = world.chain.ledger.sealed_block(world.chain.number)
    profile = decode_profile(trace_transaction(block, 0, PROFILE, budget).trace or b"")
    assert isinstance(profile, Profile)
    assert (
        sum(count for frame in profile.frames if frame.is_outermost for _, count in frame.gas) > 1
    )
