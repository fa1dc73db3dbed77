"""Execution: results, changes, checks and environments."""

from __future__ import annotations

import pytest

from entresol import errors
from entresol._native import Account, BlockEnv, Checks, Rules, Snapshot, TxEnv, execute
from tests.support.evm.in_memory_state import (
    ALICE,
    BLOCK,
    BOB,
    CONTRACT,
    EMPTY_CODE,
    ETHER,
    RULES,
    InMemoryState,
    run,
    to_contract,
)
from tests.support.hex_data import word

STORE_7 = "6007 5f 55"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("fe", "invalid 0xFE opcode"),
        ("0c", "opcode not found"),
        ("5f 56", "invalid jump destination"),
        ("01", "stack underflow"),
        ("5b 5f 56", "out of gas"),
    ],
)
def test_a_halt_says_why_and_takes_all_gas(code: str, reason: str) -> None:
    result = run(code)
    assert (result.status, result.reason, result.output) == ("halt", reason, b"")
    assert result.gas_used == 1_000_000


def test_changes_hold_the_values_before_and_after() -> None:
    world = InMemoryState.with_contract(STORE_7)
    world.slots[CONTRACT, word(0)] = b"\x05"
    result = execute(Snapshot(world), RULES, BLOCK, to_contract())
    alice, contract = result.changes.accounts
    assert (alice.address, alice.before, alice.after) == (
        ALICE,
        Account(0, ETHER, EMPTY_CODE),
        Account(1, ETHER, EMPTY_CODE),
    )
    assert contract.address == CONTRACT
    assert contract.before == contract.after
    assert contract.storage == {word(0): (word(5), word(7))}
    assert not contract.destroyed


def test_reads_list_every_account_and_slot_accessed() -> None:
    balance_of_bob = "73" + BOB.hex() + "31"
    result = run(balance_of_bob + "6005 54 6006 54")
    assert result.reads.keys() == {ALICE, CONTRACT, BOB, bytes(20)}
    assert sorted(result.reads[CONTRACT]) == [word(5), word(6)]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"nonce": 1}, errors.TransactionRuleBroken("nonce too high", 0, 1)),
        ({"gas_limit": 20_999}, errors.IntrinsicGasTooLow(20_999, 21_000)),
        (
            {"gas_limit": 30_000_001},
            errors.TransactionRuleBroken("above transaction gas limit", 30_000_001, 2**24),
        ),
        (
            {"gas_limit": 16_777_217},
            errors.TransactionRuleBroken("above transaction gas limit", 16_777_217, 2**24),
        ),
        ({"gas_price": 6}, errors.TransactionRuleBroken("fee cap below base fee", 6, 7)),
        (
            {"gas_price": 9, "priority_fee": 10},
            errors.TransactionRuleBroken("tip above fee cap", 10, 9),
        ),
        ({"value": ETHER}, errors.InsufficientFunds(ETHER, ETHER + 100_000 * 7)),
        ({"chain_id": 1}, errors.TransactionRuleBroken("chain id", 270, 1)),
        ({"authorizations": []}, errors.TransactionRuleBroken("no authorizations")),
        ({"sender": CONTRACT}, errors.TransactionRuleBroken("sender with code")),
        (
            {"to": None, "data": bytes(49_153)},
            errors.TransactionRuleBroken("init code too large", 49_153, 49_152),
        ),
    ],
)
def test_an_invalid_transaction_is_rejected_with_its_values(
    fields: dict[str, object], error: errors.InvalidTransaction
) -> None:
    block = BlockEnv(number=1, timestamp=1, gas_limit=2**24, base_fee=7)
    given: dict[str, object] = {"sender": ALICE, "to": BOB, "gas_limit": 100_000, "gas_price": 7}
    if "data" in fields:
        given["gas_limit"] = 5_000_000
    tx = TxEnv(**{**given, **fields})  # type: ignore[arg-type]
    with pytest.raises(type(error)) as caught:
        execute(Snapshot(InMemoryState.with_contract("00")), RULES, block, tx)
    assert str(caught.value) == str(error)


def test_a_gas_limit_has_a_cap_from_osaka_on_unless_the_rules_lift_it() -> None:
    assert Rules(270, "osaka").transaction_gas_limit == 2**24
    for rules in (Rules(270, "prague"), Rules(270, "osaka", caps_gas=False)):
        assert rules.transaction_gas_limit is None
        tx = TxEnv(sender=ALICE, to=BOB, gas_limit=2**24 + 1)
        assert (
            execute(Snapshot(InMemoryState.with_contract("")), rules, BLOCK, tx).status == "success"
        )


@pytest.mark.parametrize(
    ("limit", "size", "is_created"),
    [(24_576, 24_576, True), (24_576, 24_577, False), (30_000, 30_000, True), (None, 60_000, True)],
)
def test_deployed_code_has_a_limit(limit: int | None, size: int, *, is_created: bool) -> None:
    rules = Rules(270, code_size_limit=limit)
    tx = TxEnv(sender=ALICE, gas_limit=16_000_000, data=bytes.fromhex(f"62{size:06x} 5f f3"))
    result = execute(Snapshot(InMemoryState.with_contract("")), rules, BLOCK, tx)
    assert (result.status == "success") is is_created


@pytest.mark.parametrize(("limit", "size"), [(100, 201), (30_000, 60_001)])
def test_init_code_may_have_twice_the_size_of_code(limit: int, size: int) -> None:
    tx = TxEnv(sender=ALICE, gas_limit=5_000_000, data=bytes(size))
    world = Snapshot(InMemoryState.with_contract(""))
    with pytest.raises(errors.TransactionRuleBroken, match=f"code size {size}, limit {size - 1}"):
        execute(world, Rules(270, code_size_limit=limit), BLOCK, tx)
    assert execute(world, Rules(270, code_size_limit=None), BLOCK, tx).status == "success"


@pytest.mark.parametrize(
    ("fields", "checks"),
    [
        ({"nonce": 9}, Checks(nonce=False)),
        ({"gas_limit": 40_000_000}, Checks(gas_cap=False)),
        ({"gas_price": 1}, Checks(base_fee=False)),
        ({"value": 2 * ETHER}, Checks(balance=False)),
        ({"sender": CONTRACT, "nonce": 1, "gas_price": 7}, Checks(sender_code=False, fees=False)),
    ],
)
def test_each_check_can_be_turned_off(fields: dict[str, object], checks: Checks) -> None:
    block = BlockEnv(number=1, timestamp=1, gas_limit=30_000_000, base_fee=7)
    given: dict[str, object] = {"sender": ALICE, "to": BOB, "gas_limit": 100_000, "gas_price": 7}
    tx = TxEnv(**{**given, **fields})  # type: ignore[arg-type]
    state = Snapshot(InMemoryState.with_contract("00"))
    assert execute(state, RULES, block, tx, checks=checks).status == "success"
    with pytest.raises(errors.InvalidTransaction):
        execute(state, RULES, block, tx)


def test_an_unknown_fork_is_rejected_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r'no fork "atlantis"; there are .*prague, osaka'):
        Rules(270, "atlantis")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"sender": b"\x01"}, "an address is 20 bytes, got 1"),
        ({"to": b"\x01" * 21}, "an address is 20 bytes, got 21"),
        ({"value": -1}, r"a word is from 0 to 2\^256 - 1"),
        ({"value": 2**256}, r"a word is from 0 to 2\^256 - 1"),
        ({"access_list": [(ALICE, [b""])]}, "a hash is 32 bytes, got 0"),
    ],
)
def test_a_field_of_the_wrong_size_is_rejected(fields: dict[str, object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        TxEnv(**{"sender": ALICE, "gas_limit": 1, **fields})  # type: ignore[arg-type]
