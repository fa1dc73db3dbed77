"""Snapshots, overlays, accounts and state providers."""

from __future__ import annotations

import pytest

from entresol import errors
from entresol._native import Account, Overlay, Snapshot, TxEnv, execute, keccak256
from tests.support.evm.in_memory_state import (
    ALICE,
    BLOCK,
    BOB,
    CONTRACT,
    EMPTY_CODE,
    ETHER,
    RULES,
    InMemoryState,
    produce,
    to_contract,
)
from tests.support.hex_data import word

COUNT = "6001 5f 54 01 5f 55"


def test_a_snapshot_reads_from_its_provider() -> None:
    world = InMemoryState.with_contract("5f")
    world.slots[CONTRACT, word(1)] = b"\x2a"
    snapshot = Snapshot(world)
    assert snapshot.account(ALICE) == Account(0, ETHER, EMPTY_CODE)
    assert snapshot.account(BOB) is None
    assert snapshot.slot(CONTRACT, word(1)) == word(42)
    assert snapshot.slot(CONTRACT, word(2)) == word(0)
    assert snapshot.code(world.accounts[CONTRACT].code_hash) == b"\x5f"
    assert snapshot.code(EMPTY_CODE) == b""


def test_a_block_is_built_on_an_overlay_and_becomes_the_next_snapshot() -> None:
    world = InMemoryState.with_contract(COUNT)
    snapshot = Snapshot(world)
    overlay = Overlay(snapshot)
    transactions = [
        TxEnv(sender=ALICE, to=CONTRACT, gas_limit=100_000, nonce=nonce) for nonce in range(3)
    ]
    produce(world, overlay, *transactions)
    after = overlay.seal(world)
    reads = world.reads
    assert after.slot(CONTRACT, word(0)) == word(3)
    assert after.account(ALICE) == Account(3, ETHER, EMPTY_CODE)
    assert world.reads == reads


def test_a_fork_of_an_overlay_is_independent() -> None:
    overlay = Overlay(Snapshot(InMemoryState.with_contract(COUNT)))
    overlay.set_balance(BOB, 5)
    fork = overlay.fork()
    fork.set_balance(BOB, 6)
    assert overlay.account(BOB) == Account(0, 5, EMPTY_CODE)
    assert fork.account(BOB) == Account(0, 6, EMPTY_CODE)


def test_balance_nonce_and_code_are_set_one_by_one() -> None:
    overlay = Overlay(Snapshot(InMemoryState()))
    overlay.set_balance(BOB, 2**200)
    overlay.set_nonce(BOB, 2**63)
    code_hash = overlay.set_code(BOB, b"\x5f")
    assert overlay.account(BOB) == Account(2**63, 2**200, code_hash)
    assert overlay.code(code_hash) == b"\x5f"


def test_a_failing_provider_is_the_cause_and_leaves_the_snapshot_usable() -> None:
    world = InMemoryState.with_contract(COUNT)
    snapshot = Snapshot(world)
    world.failure = OSError("disk on fire")
    with pytest.raises(errors.EngineError, match="disk on fire") as caught:
        execute(snapshot, RULES, BLOCK, to_contract())
    assert caught.value.__cause__ is world.failure
    world.failure = None
    assert execute(snapshot, RULES, BLOCK, to_contract()).status == "success"


def test_an_interrupt_in_the_provider_stays_an_interrupt() -> None:
    world = InMemoryState.with_contract(COUNT)
    world.failure = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        execute(Snapshot(world), RULES, BLOCK, to_contract())


@pytest.mark.parametrize(
    ("method", "value"),
    [
        ("account", "a string"),
        ("account", (0, 0, EMPTY_CODE)),
        ("slot", None),
        ("slot", bytes(33)),
        ("code", 7),
    ],
)
def test_a_provider_that_returns_other_types_is_unavailable(method: str, value: object) -> None:
    world = InMemoryState.with_contract(COUNT)
    setattr(world, method, lambda *_: value)
    with pytest.raises(errors.EngineError):
        execute(Snapshot(world), RULES, BLOCK, to_contract())


@pytest.mark.parametrize(
    "fields",
    [
        (-1, 0, EMPTY_CODE),
        (2**64, 0, EMPTY_CODE),
        (0, -1, EMPTY_CODE),
        (0, 2**256, EMPTY_CODE),
        (0, 0, b"short"),
    ],
)
def test_an_account_rejects_values_out_of_range(fields: tuple[int, int, bytes]) -> None:
    with pytest.raises((ValueError, OverflowError)):
        Account(*fields)


def test_an_account_is_a_value() -> None:
    account = Account(2**64 - 1, 2**256 - 1, keccak256(b"\1"))
    assert (account.nonce, account.balance) == (2**64 - 1, 2**256 - 1)
    assert account.code_hash == keccak256(b"\1")
    assert Account() == Account(nonce=0, balance=0, code_hash=EMPTY_CODE)
    assert {account, Account(2**64 - 1, 2**256 - 1, keccak256(b"\1"))} == {account}
    assert Account() != Account(balance=1)
    assert repr(Account(1, 2)) == f"Account(nonce=1, balance=2, code_hash=0x{EMPTY_CODE.hex()})"


def test_a_provider_needs_its_four_methods() -> None:
    with pytest.raises(AttributeError, match="account"):
        Snapshot(object())  # type: ignore[arg-type]
