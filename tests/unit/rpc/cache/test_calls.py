"""Answers to calls are kept as long as they are right."""

from __future__ import annotations

from msgspec import Raw

from entresol._native import Snapshot
from entresol.execution.evm_env import BlockEnv, EvmEnv
from entresol.rpc.cache.calls import MAX_CALLS, CallCache
from entresol.rpc.types.call_request import CallObject
from tests.support.evm.in_memory_state import RULES, World

BLOCK = BlockEnv(number=1, timestamp=1, gas_limit=30_000_000)


def a_scene() -> EvmEnv:
    return EvmEnv(Snapshot(World()), RULES, BLOCK)


def test_the_same_call_on_the_same_scene_is_answered_again() -> None:
    answers, evm_env, call, answer = CallCache(), a_scene(), CallObject(), Raw(b'"0x"')
    assert answers.get(evm_env, call) is None
    answers.put(evm_env, call, answer)
    assert answers.get(evm_env, call) is answer


def test_another_scene_has_answers_of_its_own() -> None:
    answers, first, second, call = CallCache(), a_scene(), a_scene(), CallObject()
    answers.put(first, call, Raw(b"1"))
    assert answers.get(second, call) is None
    answers.put(second, call, Raw(b"2"))
    assert answers.get(first, call) is None


def test_another_call_is_not_taken_for_one_that_is_gone() -> None:
    answers, evm_env = CallCache(), a_scene()
    calls = [CallObject() for _ in range(2 * MAX_CALLS)]
    for number, call in enumerate(calls):
        answers.put(evm_env, call, Raw(str(number).encode()))
    known = [answers.get(evm_env, call) for call in calls]
    assert sum(answer is not None for answer in known) <= MAX_CALLS
    assert all(
        answer is None or bytes(answer) == str(number).encode()
        for number, answer in enumerate(known)
    )
