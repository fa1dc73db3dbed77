"""Precompiles that state overrides move or replace."""

from __future__ import annotations

import hashlib

import pytest

from entresol._native import Snapshot
from entresol.errors import (
    DuplicatePrecompileMove,
    InvalidOverride,
    NotPossible,
    PrecompileMovedToSelf,
)
from entresol.execution.calls import Bundle, CallRequest, call, call_many, estimate_gas
from entresol.execution.evm_env import BlockEnv, EvmEnv
from entresol.execution.overrides import BlockOverrides, StateOverride, override
from entresol.primitives.values import Address
from tests.support.evm.in_memory_state import CONTRACT, RULES, InMemoryState
from tests.support.hex_data import word

BLOCK = BlockEnv(number=10, timestamp=1_000, gas_limit=30_000_000, base_fee=7)
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
