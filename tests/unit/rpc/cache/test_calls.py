"""The cache of call results."""

from __future__ import annotations

from msgspec import Raw

from entresol._native import Snapshot
from entresol.execution.evm_env import BlockEnv, EvmEnv
from entresol.rpc.cache.calls import MAX_CALLS, CallCache
from entresol.rpc.types.call_request import CallObject
from tests.support.evm.in_memory_state import RULES, InMemoryState

BLOCK = BlockEnv(number=1, timestamp=1, gas_limit=30_000_000)


def new_env() -> EvmEnv:
    return EvmEnv(Snapshot(InMemoryState()), RULES, BLOCK)


def test_the_result_of_the_same_call_in_the_same_environment_is_cached() -> None:
    cache, evm_env, call, result = CallCache(), new_env(), CallObject(), Raw(b'"0x"')
    assert cache.get(evm_env, call) is None
    cache.put(evm_env, call, result)
    assert cache.get(evm_env, call) is result


def test_another_environment_has_results_of_its_own() -> None:
    cache, first, second, call = CallCache(), new_env(), new_env(), CallObject()
    cache.put(first, call, Raw(b"1"))
    assert cache.get(second, call) is None
    cache.put(second, call, Raw(b"2"))
    assert cache.get(first, call) is None


def test_another_call_is_not_confused_with_an_evicted_one() -> None:
    cache, evm_env = CallCache(), new_env()
    calls = [CallObject() for _ in range(2 * MAX_CALLS)]
    for number, call in enumerate(calls):
        cache.put(evm_env, call, Raw(str(number).encode()))
    cached = [cache.get(evm_env, call) for call in calls]
    assert sum(result is not None for result in cached) <= MAX_CALLS
    assert all(
        result is None or bytes(result) == str(number).encode()
        for number, result in enumerate(cached)
    )


def test_results_are_evicted_once_they_are_too_large_together() -> None:
    cache, here = CallCache(), new_env()
    calls = [CallObject() for _ in range(20)]
    for it in calls:
        cache.put(here, it, Raw(b"x" * 1_000_000))
    assert [cache.get(here, it) is not None for it in calls] == [False] * 12 + [True] * 8
    assert cache.size == 8_000_000
