"""The time that failed validations may take."""

from __future__ import annotations

import pytest

from entresol.errors import AccountRejection, ValidationsThrottled
from entresol.execution.account_senders import Culprit, Involved
from entresol.primitives.values import Address
from entresol.sequencer.account_validations import ValidationBudget
from tests.support.contracts.accounts import GENERAL, approval_based, fill

ANN, BEN, PAYMASTER, TOKEN = (Address(bytes([n]) * 20) for n in (1, 2, 3, 4))
LATE = AccountRejection("validation", "late")
COST = 0.0007
FIRST = 100


class Time:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def spend(budget: ValidationBudget, involved: Involved, error: Exception = LATE) -> int:
    """Let validations fail until they are throttled, and return how many there were."""
    for count in range(10_000):
        try:
            budget.check(involved)
        except ValidationsThrottled:
            return count
        budget.failed(involved, error, COST)
    raise AssertionError("there is no limit")


def addresses(count: int) -> list[Address]:
    """Return addresses that nobody has used."""
    return [Address((FIRST + n).to_bytes(20)) for n in range(count)]


def test_an_account_that_fails_late_is_throttled_alone() -> None:
    budget = ValidationBudget(Time())
    assert 0 < spend(budget, Involved(ANN)) < 50
    with pytest.raises(ValidationsThrottled, match=str(ANN)):
        budget.check(Involved(ANN))
    budget.check(Involved(BEN))


def test_many_accounts_that_fail_late_cost_a_bounded_time() -> None:
    clock = Time()
    budget = ValidationBudget(clock)
    seconds, failures = 60, 0
    for _ in range(seconds):
        failures += sum(spend(budget, Involved(address)) for address in addresses(1_000))
        clock.now += 1
    # What a full bucket holds, and then 10 ms in each second; each time it may overflow by one.
    assert failures * COST < 0.05 + seconds * (0.01 + COST)


def test_a_throttle_ends() -> None:
    clock = Time()
    budget = ValidationBudget(clock)
    spend(budget, Involved(ANN))
    clock.now += 5
    budget.check(Involved(ANN))


def test_a_budget_that_is_cleared_is_as_new() -> None:
    budget = ValidationBudget(Time())
    allowed = spend(budget, Involved(ANN))
    budget.clear()
    assert spend(budget, Involved(ANN)) == allowed


def test_a_sender_that_has_passed_is_not_kept_out_by_others() -> None:
    budget = ValidationBudget(Time())
    budget.passed(Involved(ANN, PAYMASTER))
    for address in addresses(1_000):
        spend(budget, Involved(address, PAYMASTER), AccountRejection("paymaster", "no"))
    with pytest.raises(ValidationsThrottled):
        budget.check(Involved(BEN, PAYMASTER))
    budget.check(Involved(ANN, PAYMASTER))


def test_senders_that_have_passed_cost_a_bounded_time_too() -> None:
    budget = ValidationBudget(Time())
    everybody = addresses(2_000)
    for address in everybody:
        budget.passed(Involved(address))
    failures = sum(spend(budget, Involved(address)) for address in everybody)
    # One each, for a validation that has cost as much; then all of them share a bucket.
    assert failures * COST < len(everybody) * COST + 0.25 + COST


def test_what_another_key_has_signed_is_not_held_against_one_that_has_passed() -> None:
    budget, owner = ValidationBudget(Time()), Involved(ANN, signer=BEN)
    budget.passed(owner)
    for signer in (*addresses(10), None):
        spend(budget, Involved(ANN, signer=signer))
    assert budget.check(owner) == 1
    assert budget.check_unread(Involved(ANN)) == 1
    with pytest.raises(ValidationsThrottled):
        budget.check(Involved(ANN))


def test_a_key_that_has_passed_answers_for_its_own_failures() -> None:
    budget, owner = ValidationBudget(Time()), Involved(ANN, signer=BEN)
    budget.passed(owner)
    assert spend(budget, owner) > 0
    with pytest.raises(ValidationsThrottled):
        budget.check(owner)
    # Another key may have signed the next one.
    assert budget.check_unread(Involved(ANN)) == 1


def test_few_keys_of_a_sender_are_known_and_the_last_stay() -> None:
    budget, keys = ValidationBudget(Time()), addresses(10)
    for key in keys:
        budget.passed(Involved(ANN, signer=key))
    spend(budget, Involved(ANN, signer=keys[0]))
    assert budget.check(Involved(ANN, signer=keys[-1])) == 1
    with pytest.raises(ValidationsThrottled):
        budget.check(Involved(ANN, signer=keys[1]))


@pytest.mark.parametrize(
    ("step", "responsible"),
    [
        ("validation", [(ANN,)]),
        ("payment", [(ANN,)]),
        ("preparation", [(ANN,), (PAYMASTER, TOKEN)]),
        ("rules", [(ANN,), (PAYMASTER, TOKEN)]),
        ("paymaster", [(PAYMASTER, TOKEN)]),
        ("charge", [(PAYMASTER, TOKEN)]),
    ],
)
def test_the_step_says_who_is_responsible(step: str, responsible: list[Culprit]) -> None:
    involved = Involved(ANN, PAYMASTER, TOKEN)
    assert list(involved.responsible(AccountRejection(step, "no"))) == responsible


def test_a_paymaster_answers_for_its_magic_and_its_gas() -> None:
    for step in ("validation", "rules"):
        rejection = AccountRejection(step, "no", "paymaster")
        assert Involved(ANN, PAYMASTER).responsible(rejection) == ((PAYMASTER,),)


def test_a_token_of_ones_own_keeps_nobody_out_who_has_another() -> None:
    budget = ValidationBudget(Time())
    error = AccountRejection("paymaster", "the token says no")
    spend(budget, Involved(ANN, PAYMASTER, TOKEN), error)
    with pytest.raises(ValidationsThrottled):
        budget.check(Involved(BEN, PAYMASTER, TOKEN))
    budget.check(Involved(BEN, PAYMASTER))
    budget.check(Involved(BEN, PAYMASTER, Address(b"\x05" * 20)))


def test_senders_that_have_passed_are_not_kept_out_by_each_other() -> None:
    budget = ValidationBudget(Time())
    others = addresses(1_000)
    for address in (ANN, *others):
        budget.passed(Involved(address, PAYMASTER))
    for address in others:
        spend(budget, Involved(address, PAYMASTER), AccountRejection("paymaster", "no"))
    budget.check(Involved(ANN, PAYMASTER))


def test_a_paymasters_input_names_its_token() -> None:
    fields = {"paymaster": PAYMASTER, "paymaster_input": approval_based(TOKEN, 1)}
    assert Involved.of(fill(ANN, **fields)) == Involved(ANN, PAYMASTER, TOKEN)
    fields["paymaster_input"] = GENERAL
    assert Involved.of(fill(ANN, **fields)) == Involved(ANN, PAYMASTER)
    assert Involved.of(fill(ANN)) == Involved(ANN)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"paymaster": Address.zero()},
        {"paymaster": ANN},
        {"paymaster": PAYMASTER},
        {"paymaster": PAYMASTER, "paymaster_input": approval_based(TOKEN, 1)},
        {"paymaster": PAYMASTER, "factory_deps": (bytes(32),), "custom_signature": b"any"},
    ],
    ids=["none", "zero", "the sender", "general", "approval", "with dependencies"],
)
def test_a_raw_transaction_involves_the_same(fields: dict[str, object]) -> None:
    payload = fill(ANN, **fields)
    assert Involved.of_raw(payload.encode()) == Involved.of(payload)


@pytest.mark.parametrize("raw", [b"", b"\x71", b"\x71\xc0", b"\x71\x80", b"\x02\xc0"])
def test_bytes_that_are_no_transaction_involve_nobody(raw: bytes) -> None:
    assert Involved.of_raw(raw) is None
