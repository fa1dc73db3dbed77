"""State and block overrides."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from entresol._native import Account, Overlay, Snapshot
from entresol.errors import (
    DuplicatePrecompileMove,
    InvalidOverride,
    NotPossible,
    PrecompileMovedToSelf,
)
from entresol.execution.calls import Bundle, CallRequest, call, call_many, estimate_gas
from entresol.execution.evm_env import BlockEnv, EvmEnv
from entresol.execution.overrides import BlockOverrides, StateOverride, apply, override
from entresol.primitives.values import Address, Hash32
from tests.support.evm.in_memory_state import (
    ALICE,
    BOB,
    CONTRACT,
    EMPTY_CODE,
    ETHER,
    RULES,
    InMemoryState,
)
from tests.support.hex_data import word

TO = Address(CONTRACT)
BLOCK = BlockEnv(number=10, timestamp=1_000, gas_limit=30_000_000, base_fee=7)
RETURN_TOP = "5f 52 6020 5f f3"
# Returns slots 1 and 2.
TWO_SLOTS = "6001 54 5f 52 6002 54 6020 52 6040 5f f3"


def slots(**named: int) -> dict[Hash32, Hash32]:
    return {Hash32(word(int(name[1:]))): Hash32(word(value)) for name, value in named.items()}


def evm_env(code: str) -> EvmEnv:
    world = InMemoryState.with_contract(code)
    world.slots[CONTRACT, word(1)] = b"\x0b"
    world.slots[CONTRACT, word(2)] = b"\x16"
    return EvmEnv(Snapshot(world), RULES, BLOCK)


def answer(code: str, wanted: dict[Address, StateOverride]) -> bytes:
    return call(override(evm_env(code), wanted), CallRequest(to=TO))


@pytest.mark.parametrize(
    ("code", "wanted", "expected"),
    [
        ("30 31" + RETURN_TOP, StateOverride(balance=5), word(5)),
        ("30 31" + RETURN_TOP, StateOverride(balance=2**256 - 1), word(2**256 - 1)),
        ("fe", StateOverride(code=bytes.fromhex("6009" + RETURN_TOP)), word(9)),
        (TWO_SLOTS, StateOverride(), word(11) + word(22)),
        (TWO_SLOTS, StateOverride(state_diff=slots(s2=5)), word(11) + word(5)),
        (TWO_SLOTS, StateOverride(state=slots(s2=5)), word(0) + word(5)),
        (TWO_SLOTS, StateOverride(state={}), word(0) + word(0)),
    ],
)
def test_an_account_is_as_assumed(code: str, wanted: StateOverride, expected: bytes) -> None:
    assert answer(code, {TO: wanted}) == expected


def test_a_nonce_is_as_assumed() -> None:
    overlay = Overlay(Snapshot(InMemoryState.with_contract("")))
    apply(overlay, {Address(BOB): StateOverride(nonce=9)})
    assert overlay.account(BOB) == Account(9, 0, EMPTY_CODE)


def test_assumptions_leave_the_state_below_alone() -> None:
    overlay = Overlay(Snapshot(InMemoryState.with_contract("30 31" + RETURN_TOP)))
    below = EvmEnv(overlay, RULES, BLOCK)
    override(below, {TO: StateOverride(balance=5)})
    assert overlay.changes().accounts == []
    assert call(below, CallRequest(to=TO)) == word(0)


def test_assumptions_come_on_top_of_an_overlay() -> None:
    overlay = Overlay(Snapshot(InMemoryState.with_contract(TWO_SLOTS)))
    overlay.set_slot(CONTRACT, word(1), word(4))
    below = EvmEnv(overlay, RULES, BLOCK)
    above = override(below, {TO: StateOverride(state_diff=slots(s2=5))})
    assert call(above, CallRequest(to=TO)) == word(4) + word(5)


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [
        (StateOverride(state={}, state_diff={}), "has both state and stateDiff"),
        (StateOverride(balance=2**256), r"a balance is less than 2\^256"),
        (StateOverride(nonce=2**64), r"a nonce is less than 2\^64"),
    ],
)
def test_an_impossible_assumption_is_rejected_and_changes_nothing(
    wanted: StateOverride, complaint: str
) -> None:
    overlay = Overlay(Snapshot(InMemoryState.with_contract("")))
    good = StateOverride(balance=1)
    with pytest.raises(InvalidOverride, match=f"account {TO}.*{complaint}"):
        apply(overlay, {Address(ALICE): good, TO: wanted})
    assert overlay.account(ALICE) == Account(0, ETHER, EMPTY_CODE)


@pytest.mark.parametrize(
    ("opcodes", "wanted", "expected"),
    [
        ("43", BlockOverrides(number=99), 99),
        ("42", BlockOverrides(time=99), 99),
        ("45", BlockOverrides(gas_limit=99_999_999), 99_999_999),
        ("41", BlockOverrides(fee_recipient=Address(BOB)), int.from_bytes(BOB)),
        ("44", BlockOverrides(prev_randao=Hash32(word(99))), 99),
        ("48", BlockOverrides(base_fee_per_gas=99), 99),
        ("4a", BlockOverrides(blob_base_fee=99), 99),
        ("6008 40", BlockOverrides(block_hash={8: Hash32(word(99))}), 99),
        ("48", BlockOverrides(), 7),
        ("48", BlockOverrides(base_fee_per_gas=0), 0),
    ],
)
def test_the_block_is_as_assumed(opcodes: str, wanted: BlockOverrides, expected: int) -> None:
    there = override(evm_env(opcodes + RETURN_TOP), block=wanted)
    assert call(there, CallRequest(to=TO)) == word(expected)


def test_a_difficulty_is_as_assumed_where_there_is_one() -> None:
    assert override(evm_env(""), block=BlockOverrides(difficulty=9)).block.difficulty == 9


def test_assumed_block_hashes_join_those_there() -> None:
    first = override(evm_env(""), block=BlockOverrides(block_hash={8: Hash32(word(1))}))
    second = override(first, block=BlockOverrides(block_hash={9: Hash32(word(2))}))
    assert second.block.block_hashes == {8: word(1), 9: word(2)}


@pytest.mark.parametrize(
    "field", ["number", "time", "gas_limit", "base_fee_per_gas", "blob_base_fee", "difficulty"]
)
def test_a_number_that_no_block_can_have_is_rejected(field: str) -> None:
    fields: dict[str, Any] = {field: 2**256}
    with pytest.raises(InvalidOverride, match="a number of the block is too large"):
        override(evm_env(""), block=BlockOverrides(**fields))


ONE, SHA256, IDENTITY, BLS, P256 = (Address(it.to_bytes(20)) for it in (1, 2, 4, 11, 256))
HERE, THERE = Address(CONTRACT), Address(b"\xee" * 20)
NINE = bytes.fromhex("6009 5f52 6020 5ff3")


def moving(to: Address, **fields: object) -> StateOverride:
    return StateOverride(move_precompile_to=to, **fields)  # type: ignore[arg-type]


def output_of(wanted: dict[Address, StateOverride], to: Address) -> bytes:
    """Return the output of a call to `to`; the code that is deployed halts."""
    evm_env = EvmEnv(Snapshot(InMemoryState.with_contract("fe")), RULES, BLOCK)
    return call(override(evm_env, wanted), CallRequest(to=to, data=b"hello"))


@pytest.mark.parametrize(
    ("wanted", "to", "output"),
    [
        ({IDENTITY: moving(THERE)}, THERE, b"hello"),
        ({IDENTITY: moving(THERE)}, IDENTITY, b""),
        # Replaces the code there.
        ({IDENTITY: moving(HERE)}, HERE, b"hello"),
        # Replaces the precompile there, which then runs nowhere.
        ({IDENTITY: moving(SHA256)}, SHA256, b"hello"),
        # With code where it was.
        ({IDENTITY: moving(THERE, code=NINE)}, IDENTITY, word(9)),
        ({IDENTITY: moving(THERE, code=NINE)}, THERE, b"hello"),
        # An account that is assumed to be anything else is not a precompile any more.
        ({IDENTITY: StateOverride(code=NINE)}, IDENTITY, word(9)),
        ({IDENTITY: StateOverride(balance=5)}, IDENTITY, b""),
        ({SHA256: moving(THERE), ONE: moving(HERE)}, THERE, hashlib.sha256(b"hello").digest()),
        ({THERE: StateOverride(balance=5)}, IDENTITY, b"hello"),
    ],
)
def test_a_precompile_runs_where_it_is_assumed(
    wanted: dict[Address, StateOverride], to: Address, output: bytes
) -> None:
    assert output_of(wanted, to) == output


@pytest.mark.parametrize(
    ("wanted", "error", "text"),
    [
        ({HERE: moving(THERE)}, NotPossible, f"account {HERE} is not a precompile"),
        ({ONE: moving(ONE)}, PrecompileMovedToSelf, f"account {ONE} is moved to itself"),
        (
            {ONE: moving(THERE), SHA256: moving(THERE)},
            DuplicatePrecompileMove,
            f"two precompiles are moved to account {THERE}",
        ),
        (
            {ONE: moving(SHA256), SHA256: moving(ONE)},
            InvalidOverride,
            f"account {SHA256} is already overridden",
        ),
        (
            {ONE: moving(THERE), THERE: StateOverride()},
            InvalidOverride,
            f"account {THERE} is already overridden",
        ),
    ],
)
def test_a_move_that_cannot_be_is_rejected(
    wanted: dict[Address, StateOverride], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        output_of(wanted, HERE)


def test_the_block_and_the_precompiles_are_assumed_together() -> None:
    evm_env = EvmEnv(Snapshot(InMemoryState.with_contract("")), RULES, BLOCK)
    assumed = override(evm_env, {IDENTITY: moving(THERE)}, BlockOverrides(number=99))
    again = override(assumed, {SHA256: moving(HERE)})
    assert call(again, CallRequest(to=THERE, data=b"hello")) == b"hello"
    assert call(again, CallRequest(to=HERE, data=b"")) == hashlib.sha256().digest()
    assert call(evm_env, CallRequest(to=IDENTITY, data=b"hello")) == b"hello"


def test_many_calls_and_estimates_find_it_there_too() -> None:
    evm_env = EvmEnv(Snapshot(InMemoryState.with_contract("")), RULES, BLOCK)
    assumed = override(evm_env, {IDENTITY: moving(THERE)})
    request = CallRequest(to=THERE, data=b"hello")
    bundles = [Bundle(calls=(request,)), Bundle(calls=(request,), block=BlockOverrides(number=9))]
    assert call_many(assumed, bundles) == [[b"hello"], [b"hello"]]
    plain = estimate_gas(evm_env, CallRequest(to=IDENTITY, data=b"hello")).gas
    assert estimate_gas(assumed, request).gas == plain
