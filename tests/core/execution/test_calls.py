"""Calls: their results, what they cost the sender, and their limits."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from eth_abi.abi import encode

from entresol._native import CancelFlag, Overlay, Rules, Snapshot
from entresol.errors import (
    DeadlinePassed,
    ExecutionHalted,
    ExecutionReverted,
    ExecutionStopped,
    GasBudgetSpent,
    InsufficientFunds,
    IntrinsicGasTooLow,
    MalformedValue,
    TransactionRuleBroken,
)
from entresol.execution.calls import Bundle, CallRequest, call, call_many, create_access_list, run
from entresol.execution.evm_env import BlockEnv, EvmEnv
from entresol.execution.limits import CallLimits
from entresol.execution.overrides import BlockOverrides
from entresol.primitives.transactions import Access
from entresol.primitives.values import Address, Hash32
from tests.support.evm.in_memory_state import ALICE, BOB, CONTRACT, ETHER, RULES, InMemoryState
from tests.support.hex_data import word

RICH, POOR, TO = Address(ALICE), Address(BOB), Address(CONTRACT)
BLOCK = BlockEnv(number=10, timestamp=1_000, gas_limit=30_000_000, base_fee=7)
RETURN_TOP = "5f 52 6020 5f f3"
LOOP = "5b 5f 56"
# Reverts with whatever it is called with.
ECHO_REVERT = "36 5f 5f 37 36 5f fd"


def evm_env(code: str, rules: Rules = RULES) -> EvmEnv:
    return EvmEnv(Snapshot(InMemoryState.with_contract(code)), rules, BLOCK)


def call_code(code: str, limits: CallLimits | None = None, **fields: Any) -> bytes:
    request = CallRequest(**{"to": TO, **fields})
    return call(evm_env(code), request, limits or CallLimits())


def number(code: str, **fields: Any) -> int:
    return int.from_bytes(call_code(code + RETURN_TOP, **fields))


@pytest.mark.parametrize(
    ("opcode", "fields", "expected"),
    [
        ("33", {}, 0),
        ("33", {"sender": POOR}, int.from_bytes(BOB)),
        ("36", {"data": bytes(5)}, 5),
        ("34", {"sender": RICH, "value": 5}, 5),
        ("3a", {}, 0),
        ("48", {}, 7),
        ("3a", {"sender": RICH, "gas_price": 9}, 9),
        ("3a", {"sender": RICH, "max_fee_per_gas": 9, "max_priority_fee_per_gas": 1}, 8),
        ("3a", {"sender": RICH, "max_fee_per_gas": 9}, 7),
        ("46", {}, 270),
    ],
)
def test_the_contract_sees_the_fields_of_the_call(
    opcode: str, fields: dict[str, Any], expected: int
) -> None:
    assert number(opcode, **fields) == expected


def test_a_call_without_a_target_runs_init_code() -> None:
    assert call_code("fe", to=None, data=bytes.fromhex("6001" + RETURN_TOP)) == word(1)


@pytest.mark.parametrize("fields", [{"nonce": 7}, {"sender": TO}, {"nonce": 2**64 - 1}])
def test_neither_nonce_nor_code_of_the_sender_matter(fields: dict[str, Any]) -> None:
    assert number("6003", **fields) == 3


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "execution reverted"),
        (bytes.fromhex("08c379a0") + encode(["string"], ["no"]), "execution reverted: no"),
        (
            bytes.fromhex("4e487b71") + word(0x11),
            "execution reverted: panic: arithmetic underflow or overflow (0x11)",
        ),
        (
            bytes.fromhex("deadbeef") + word(1),
            f"execution reverted: custom error 0xdeadbeef: {1:064x}",
        ),
    ],
)
def test_a_revert_has_its_reason_and_its_data(data: bytes, text: str) -> None:
    with pytest.raises(ExecutionReverted) as caught:
        call_code(ECHO_REVERT, data=data)
    assert str(caught.value) == text
    assert caught.value.data == data


def test_running_returns_a_failure_as_a_result() -> None:
    result = run(evm_env("fe"), CallRequest(to=TO))
    assert result.status == "halt"


def test_a_result_can_be_applied_before_the_next_call() -> None:
    overlay = Overlay(Snapshot(InMemoryState.with_contract("5f 54 6001 01 80 5f 55" + RETURN_TOP)))
    there = EvmEnv(overlay, RULES, BLOCK)
    answers = []
    for _ in range(3):
        result = run(there, CallRequest(to=TO))
        overlay.apply(result)
        answers.append(result.output)
    assert answers == [word(1), word(2), word(3)]


def test_a_price_of_zero_is_free() -> None:
    assert number("6003", sender=POOR, gas_price=0) == 3
    assert number("6003", sender=POOR, max_fee_per_gas=0, max_priority_fee_per_gas=0) == 3


def test_a_free_call_leaves_the_senders_balance_alone() -> None:
    assert number("33 31", sender=RICH) == ETHER


def test_a_priced_call_is_paid_before_it_runs() -> None:
    assert number("33 31", sender=RICH, gas=100_000, gas_price=9) == ETHER - 900_000


@pytest.mark.parametrize("value", [1, ETHER])
def test_value_beyond_the_balance_is_rejected(value: int) -> None:
    with pytest.raises(InsufficientFunds, match=f"have 0 want {value}$"):
        call_code("00", sender=POOR, value=value)


def test_a_price_beyond_the_balance_is_rejected() -> None:
    with pytest.raises(InsufficientFunds, match=f"have {ETHER} want {10**5 * 10**18}$"):
        call_code("00", sender=RICH, gas=100_000, gas_price=10**18)


def test_a_price_that_buys_no_transaction_is_rejected() -> None:
    with pytest.raises(InsufficientFunds, match=f"have 0 want {21_000 * 7}$"):
        call_code("00", sender=POOR, gas_price=7)


def test_a_priced_call_without_gas_gets_what_its_sender_can_afford() -> None:
    price = 10**12
    gas = number("5a", sender=RICH, gas_price=price)
    assert ETHER // price - 21_100 < gas < ETHER // price


@pytest.mark.parametrize(
    "fields", [{"gas_price": 6}, {"max_fee_per_gas": 6, "max_priority_fee_per_gas": 0}]
)
def test_a_price_below_the_base_fee_is_rejected(fields: dict[str, Any]) -> None:
    with pytest.raises(TransactionRuleBroken, match="max fee per gas less than block base fee"):
        call_code("00", sender=RICH, **fields)


@pytest.mark.parametrize(
    "fields",
    [{"max_fee_per_gas": 8, "max_priority_fee_per_gas": 9}, {"max_priority_fee_per_gas": 1}],
)
def test_a_tip_above_the_fee_cap_is_rejected(fields: dict[str, Any]) -> None:
    with pytest.raises(TransactionRuleBroken, match="max priority fee per gas higher"):
        call_code("00", sender=RICH, **fields)


@pytest.mark.parametrize("field", ["max_fee_per_gas", "max_priority_fee_per_gas"])
def test_prices_of_both_kinds_are_rejected(field: str) -> None:
    fields: dict[str, Any] = {"gas_price": 9, field: 9}
    with pytest.raises(MalformedValue, match="both gasPrice and"):
        CallRequest(**fields)


@pytest.mark.parametrize("field", ["gas_price", "max_fee_per_gas", "value", "chain_id"])
def test_a_number_that_no_transaction_can_have_is_rejected(field: str) -> None:
    fields: dict[str, Any] = {"gas": 100_000, field: 2**256}
    with pytest.raises(MalformedValue, match="too large"):
        call_code("00", sender=RICH, **fields)


def test_a_call_for_another_chain_is_rejected() -> None:
    assert call_code("00", chain_id=270) == b""
    with pytest.raises(TransactionRuleBroken, match="invalid chain id"):
        call_code("00", chain_id=1)


def test_an_empty_list_of_authorizations_is_rejected() -> None:
    with pytest.raises(TransactionRuleBroken, match="empty auth list"):
        call_code("00", authorizations=())


@pytest.mark.parametrize(
    ("gas", "cap", "limit"),
    [(None, 80_000, 80_000), (70_000, 80_000, 70_000), (2**80, 90_000, 90_000)],
)
def test_the_gas_limit_is_the_requested_one_up_to_the_cap(
    gas: int | None, cap: int, limit: int
) -> None:
    left = call_code("5a" + RETURN_TOP, CallLimits(gas_cap=cap), gas=gas)
    assert int.from_bytes(left) == limit - 21_002


def test_too_little_gas_to_start_is_rejected() -> None:
    with pytest.raises(IntrinsicGasTooLow):
        call_code("00", gas=20_999)


def test_a_call_that_outgrows_its_budget_surfaces() -> None:
    with pytest.raises(GasBudgetSpent):
        call_code(LOOP, CallLimits(gas_budget=100_000))


def test_a_call_without_a_budget_runs_out_of_gas() -> None:
    with pytest.raises(ExecutionHalted, match="out of gas"):
        call_code(LOOP, CallLimits(gas_cap=1_000_000))


def test_a_call_is_stopped_at_its_time_limit() -> None:
    with pytest.raises(DeadlinePassed):
        call_code(LOOP, CallLimits(gas_cap=2**50, seconds=0.01))


def test_a_call_is_stopped_by_its_flag() -> None:
    flag = CancelFlag()
    flag.set()
    with pytest.raises(ExecutionStopped, match="cancelled"):
        call_code(LOOP, CallLimits(cancel=flag))


OTHER = Address(b"\x99" * 20)
SLOAD_5 = "6005 54 50"
BALANCE_OF_OTHER = "73" + OTHER.hex() + "31 50"
BALANCE_OF_SENDER = "33 31 50"
BALANCE_OF_PRECOMPILE = "6004 31 50"
# Measures a load of slot 5, and loads slot 6 too if it was cheap.
LOADS_MORE_WHEN_WARM = "5a 6005 54 50 5a 90 03 6103e8 10 6014 57 6006 54 5b"


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


COUNT = "5f54600101805f555f5260205ff3"
NUMBER = "435f5260205ff3"

ASK = CallRequest(sender=RICH, to=TO)


def test_each_call_sees_what_the_ones_before_it_did() -> None:
    stage = evm_env(COUNT)
    bundles = [Bundle(calls=(ASK, ASK)), Bundle(calls=(ASK,))]
    assert call_many(stage, bundles) == [[word(1), word(2)], [word(3)]]
    assert call_many(stage, bundles) == [[word(1), word(2)], [word(3)]]
    assert stage.state.slot(TO, word(0)) == word(0)


def test_a_bundle_has_a_block_of_its_own() -> None:
    bundles = [Bundle(calls=(ASK,), block=BlockOverrides(number=99)), Bundle(calls=(ASK,))]
    assert call_many(evm_env(NUMBER), bundles) == [[word(99)], [word(10)]]


def test_a_failure_leaves_the_state_to_the_next_call() -> None:
    # Counts, and reverts if it was sent anything.
    code = "5f5460010180600055346013575f5260205ff35b5f5ffd"
    failing = CallRequest(sender=RICH, to=TO, value=1)
    ((first, second, third),) = call_many(evm_env(code), [Bundle(calls=(ASK, failing, ASK))])
    assert (first, third) == (word(1), word(2))
    assert isinstance(second, ExecutionReverted)


def test_a_call_that_cannot_begin_is_an_ending_too() -> None:
    poor = CallRequest(sender=POOR, to=TO, value=ETHER)
    gift = CallRequest(sender=RICH, to=POOR, value=ETHER)
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
