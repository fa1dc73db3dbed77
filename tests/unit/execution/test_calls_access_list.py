"""Access lists that are found by running."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from entresol._native import Snapshot
from entresol.errors import GasBudgetSpent
from entresol.execution.calls import CallRequest, create_access_list, run
from entresol.execution.evm_env import BlockEnv, EvmEnv
from entresol.execution.limits import CallLimits
from entresol.primitives.transactions import Access
from entresol.primitives.values import Address, Hash32
from tests.support.evm.in_memory_state import ALICE, BOB, CONTRACT, RULES, InMemoryState
from tests.support.hex_data import word

TO, OTHER = Address(CONTRACT), Address(b"\x99" * 20)
BLOCK = BlockEnv(number=10, timestamp=1_000, gas_limit=30_000_000, base_fee=7)
SLOAD_5 = "6005 54 50"
BALANCE_OF_OTHER = "73" + OTHER.hex() + "31 50"
BALANCE_OF_SENDER = "33 31 50"
BALANCE_OF_PRECOMPILE = "6004 31 50"
# Measures a load of slot 5, and loads slot 6 too if it was cheap.
LOADS_MORE_WHEN_WARM = "5a 6005 54 50 5a 90 03 6103e8 10 6014 57 6006 54 5b"


def evm_env(code: str) -> EvmEnv:
    return EvmEnv(Snapshot(InMemoryState.with_contract(code)), RULES, BLOCK)


class Listed(NamedTuple):
    """An access list as a request has it, and what the call comes to with it."""

    access_list: tuple[Access, ...]
    gas_used: int
    error: str | None


def listed(code: str, limits: CallLimits | None = None, **fields: Any) -> Listed:
    return listed_in(evm_env(code), limits, **fields)


def listed_in(env: EvmEnv, limits: CallLimits | None = None, **fields: Any) -> Listed:
    request = CallRequest(**{"sender": Address(ALICE), "to": TO, **fields})
    found = create_access_list(env, request, limits or CallLimits())
    items = ((Address(at), tuple(map(Hash32, slots))) for at, slots in found.access_list)
    return Listed(tuple(Access(*item) for item in items), found.gas_used, found.error)


def slots(*numbers: int) -> tuple[Hash32, ...]:
    return tuple(Hash32(word(number)) for number in numbers)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("00", ()),
        (SLOAD_5, (Access(TO, slots(5)),)),
        (BALANCE_OF_OTHER, (Access(OTHER),)),
        (BALANCE_OF_OTHER + SLOAD_5, (Access(OTHER), Access(TO, slots(5)))),
        (BALANCE_OF_SENDER + BALANCE_OF_PRECOMPILE + "30 31", ()),
        (LOADS_MORE_WHEN_WARM, (Access(TO, slots(5, 6)),)),
    ],
)
def test_the_list_has_what_is_touched(code: str, expected: tuple[Access, ...]) -> None:
    found = listed(code)
    assert found.access_list == tuple(sorted(expected, key=lambda access: access.account))
    assert found.error is None


def test_the_list_has_what_a_called_contract_touches() -> None:
    store = "6007 6001 55"
    world = InMemoryState.with_contract("5f 5f 5f 5f 5f 73" + BOB.hex() + "61ffff f1" + store)
    world.deploy(BOB, store)
    found = listed_in(EvmEnv(Snapshot(world), RULES, BLOCK))
    assert set(found.access_list) == {Access(TO, slots(1)), Access(Address(BOB), slots(1))}


def test_the_gas_is_what_the_transaction_uses_with_the_list() -> None:
    result = listed(SLOAD_5)
    request = CallRequest(sender=Address(ALICE), to=TO, access_list=result.access_list)
    assert result.gas_used == run(evm_env(SLOAD_5), request).gas_used


def test_what_is_declared_stays() -> None:
    declared = (Access(OTHER, slots(1)), Access(TO, slots(9)))
    result = listed(SLOAD_5, access_list=declared)
    assert result.access_list == (Access(OTHER, slots(1)), Access(TO, slots(5, 9)))


def test_the_budget_covers_all_runs() -> None:
    loop = "612000 5b 6001 90 03 80 6003 57" + SLOAD_5
    gas = listed(loop).gas_used
    with pytest.raises(GasBudgetSpent):
        listed(loop, CallLimits(gas_budget=gas + gas // 2))
