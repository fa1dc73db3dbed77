"""The sum of profiles."""

from __future__ import annotations

import pytest

from entresol.execution.profile import CodeProfile, FrameProfile, Profile
from entresol.features.debugger.sources.profile import totals as module
from entresol.features.debugger.sources.profile.totals import FunctionKey, ProfileTotals

CALL = FunctionKey("0x01", "", "CALL", "0x12345678", is_outermost=True)


def code(name: str = "0x01", size: int = 2, *, is_creation: bool = False) -> CodeProfile:
    steps, calls, taken = [(0, 3, 9), (1, 1, 10)], [(1, 100)], [(0, 2)]
    return CodeProfile(name, f"0x{'00' * size}", is_creation, ["0xaa"], steps, calls, taken)


def frame(gas: int = 119, **fields: object) -> FrameProfile:
    given = {"via": None, "is_outermost": True, "failed": False, "size": 0, **fields}
    return FrameProfile(0, "CALL", "0x12345678", gas=[(gas, 1)], **given)  # type: ignore[arg-type]


def sum_of(*profiles: Profile) -> ProfileTotals:
    totals = ProfileTotals()
    for profile in profiles:
        totals.add(profile)
    return totals


def test_counts_of_a_code_are_added() -> None:
    totals = sum_of(Profile([code()], [frame()]), Profile([code()], [frame()]))
    found = totals.codes["0x01"]
    assert found.executions == {0: 6, 1: 2}
    assert found.gas == {0: 18, 1: 20}
    assert (found.call_gas, found.taken) == ({1: 200}, {0: 4})
    assert totals.functions[CALL].succeeded.distinct == {119: 2}


def test_a_transaction_has_all_of_its_gas_and_calls_that_it_makes_theirs() -> None:
    totals = ProfileTotals()
    inner = frame(50, is_outermost=False)
    totals.add(Profile([code()], [frame(), inner]), gas_used=21_119)
    assert totals.functions[CALL].succeeded.total == 21_119
    assert totals.functions[CALL._replace(is_outermost=False)].succeeded.total == 50


def test_of_a_transaction_in_steps_each_step_has_its_own_gas() -> None:
    totals = ProfileTotals()
    totals.add(Profile([code()], [frame(100), frame(50, failed=True)]), gas_used=21_119)
    function = totals.functions[CALL]
    assert (function.succeeded.total, function.failed.total) == (100, 50)


def test_a_code_that_creates_is_another_than_one_that_was_created() -> None:
    totals = sum_of(Profile([code(), code(is_creation=True)], []))
    assert sorted(totals.codes) == ["+0x01", "0x01"]


def test_what_was_encoded_is_decoded_and_can_be_merged() -> None:
    first, second = (sum_of(Profile([code()], [frame()])) for _ in range(2))
    second.leave_out()
    merged = ProfileTotals.decode(first.encode())
    merged.merge(ProfileTotals.decode(second.encode()))
    both = sum_of(Profile([code()], [frame()]), Profile([code()], [frame()]))
    assert (merged.codes, merged.functions) == (both.codes, both.functions)
    assert (merged.executions, merged.left_out) == (2, 1)


def test_codes_beyond_a_limit_are_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CODE_BYTES", 3)
    totals = sum_of(Profile([code()], [frame()]), Profile([code("0x02")], [frame()]))
    assert (sorted(totals.codes), totals.left_out, totals.executions) == (["0x01"], 1, 2)
    assert list(totals.functions) == [CALL]


def test_an_execution_with_functions_beyond_a_limit_is_left_out_once() -> None:
    inner = [frame(is_outermost=False), frame(is_outermost=False, via=0)]
    totals = ProfileTotals(max_functions=1)
    totals.add(Profile([code()], [frame(), *inner]))
    assert (len(totals.functions), totals.left_out) == (1, 1)
    totals.merge(sum_of(Profile([code()], [frame(), *inner])))
    assert (len(totals.functions), totals.left_out, totals.executions) == (1, 2, 2)
