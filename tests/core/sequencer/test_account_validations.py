"""Validations of transactions that an account or a paymaster has to agree to."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Iterator

import pytest

from entresol._native import address_of, public_key
from entresol.errors import AccountRejection, PoolRejection, ValidationsThrottled
from entresol.execution.account_senders import Culprit, Involved
from entresol.execution.limits import RejectedTransaction
from entresol.primitives.transactions import Transaction, decode, sign
from entresol.primitives.values import Address
from entresol.sequencer.account_validations import (
    MAX_VALIDATIONS,
    AccountValidations,
    ValidationBudget,
)
from entresol.sequencer.sequencer import InlineSequencer
from entresol.sequencer.submission import Submission
from tests.support.contracts.accounts import (
    GENERAL,
    VALIDATE,
    ScriptedWorld,
    approval_based,
    fill,
    sign_by,
    use_nonce,
)
from tests.support.contracts.layer_two import ALICE, SECRETS
from tests.support.known import known

STRANGER = Address(b"\x31" * 20)
LATE = AccountRejection("validation", "late")
SECONDS = 1.0


class World(ScriptedWorld):
    """An L2 with a contract account, and with validations whose budget a test uses up."""

    def __init__(self) -> None:
        super().__init__()
        self.budget = ValidationBudget(lambda: 1_000.0)
        self.validations = AccountValidations(self.chain, None, self.budget)
        self.submission = Submission(
            self.chain, InlineSequencer(self.chain), validations=self.validations
        )
        self.sender = self.account(is_logged=False)

    def transaction(self) -> Transaction:
        return self.from_contract(self.sender)

    def rejects(self, raw: bytes) -> bool:
        """Return whether a raw transaction is throttled before it is decoded."""
        try:
            self.validations.check_raw(raw)
        except ValidationsThrottled:
            return True
        return False


@pytest.fixture
def world() -> Iterator[World]:
    with_accounts = World()
    yield with_accounts
    with_accounts.close()


def test_a_throttled_account_is_rejected_before_its_transaction_is_decoded(world: World) -> None:
    raw = world.transaction().raw
    assert not world.rejects(raw)
    world.budget.failed(Involved(world.sender), LATE, SECONDS)
    with pytest.raises(ValidationsThrottled):
        world.submission.submit(raw)


def test_a_throttled_paymaster_is_rejected_before_a_key_is_recovered(world: World) -> None:
    raw = sign(fill(ALICE, paymaster=world.paymaster()), SECRETS[0]).raw
    assert not world.rejects(raw)
    involved = known(Involved.of_raw(raw))
    world.budget.failed(involved, AccountRejection("paymaster", "late"), SECONDS)
    assert world.rejects(raw)


def test_the_less_is_left_of_a_budget_the_fewer_are_let_through_at_once(world: World) -> None:
    raw = world.transaction().raw

    async def let_through() -> int:
        """Return how many of 100 are let through before the first has its response."""
        responses = []
        for _ in range(100):
            with contextlib.suppress(PoolRejection):
                if world.validations.check_raw(raw):
                    responses.append(asyncio.get_running_loop().create_future())
                    world.validations.expect(responses[-1])
        for response in responses:
            response.cancel()
        await asyncio.sleep(0)
        return len(responses)

    of_sender = Involved(world.sender)
    world.budget.failed(of_sender, LATE, 0.000_1)
    assert asyncio.run(let_through()) == MAX_VALIDATIONS
    world.budget.failed(of_sender, LATE, 0.004_9)
    assert asyncio.run(let_through()) == MAX_VALIDATIONS // 2
    world.budget.failed(of_sender, LATE, 0.004_9)
    assert asyncio.run(let_through()) == 1


def test_the_transaction_of_a_key_that_pays_for_itself_is_never_throttled(world: World) -> None:
    world.budget.failed(Involved(STRANGER), LATE, SECONDS)
    assert world.rejects(world.transaction().raw)
    assert not world.rejects(world.from_key().raw)


def test_a_malformed_transaction_is_left_to_who_decodes_it(world: World) -> None:
    world.budget.failed(Involved(STRANGER), LATE, SECONDS)
    assert not world.rejects(world.transaction().raw[:-1])


def test_an_address_that_failed_in_blocks_is_rejected_before_its_transaction_is_decoded(
    world: World,
) -> None:
    for signature in (b"1", b"2", b"3"):
        rejected = world.from_contract(world.sender, signature)
        world.chain.pool.penalties.record(rejected, LATE)
    with pytest.raises(PoolRejection, match="has let transactions fail that it had"):
        world.submission.submit(world.transaction().raw)


def test_what_a_block_rejects_counts_as_a_validation_that_has_failed(world: World) -> None:
    transaction = world.transaction()
    world.chain.schedule.seal_on_request()
    InlineSequencer(world.chain).submit(transaction.raw)
    assert world.budget.is_unused
    world.chain.rejections.apply([RejectedTransaction(transaction, LATE, SECONDS)])
    assert world.rejects(world.from_contract(world.sender, b"another").raw)


async def test_a_validation_in_vain_for_a_full_pool_counts_as_one_that_has_failed(
    world: World,
) -> None:
    def add() -> None:
        raise PoolRejection("txpool is full")

    validation = known(world.validations.prepare(world.transaction()))
    with pytest.raises(PoolRejection, match="txpool is full"):
        await world.validations.run(validation, add)
    assert not world.budget.is_unused


def test_a_validation_that_fails_is_reported_and_counted(world: World) -> None:
    world.script(world.sender, VALIDATE, use_nonce(0), is_logged=False)
    assert world.budget.is_unused
    with pytest.raises(AccountRejection, match="invalid magic value"):
        asyncio.run(world.validations.validate(world.transaction()))
    assert not world.budget.is_unused


OWNERS = [bytes([0x31 + n]) * 32 for n in range(2)]
STRANGERS = [bytes([0x41 + n]) * 32 for n in range(2)]
MANY = 5_000


@pytest.fixture
def shared(world: World) -> Address:
    """Return an account of two owners, who have sent something."""
    account = world.multisig(*(Address(address_of(public_key(key))) for key in OWNERS))
    validate(world, signed(account, 0, OWNERS))
    return account


def signed(account: Address, value: int, keys: list[bytes]) -> Transaction:
    return decode(sign_by(fill(account, value=value), *keys).encode())


def validate(world: World, transaction: Transaction) -> None:
    """Let a transaction pass what one that is sent has to pass."""
    world.validations.check_raw(transaction.raw)
    asyncio.run(world.validations.validate(transaction))


def throttled(world: World, transactions: Iterable[Transaction]) -> bool:
    """Let validations fail; return whether they are throttled in the end."""
    for transaction in transactions:
        try:
            validate(world, transaction)
        except AccountRejection:
            continue
        except ValidationsThrottled:
            return True
    return False


def test_rubbish_in_the_name_of_an_account_does_not_keep_its_owners_out(
    world: World, shared: Address
) -> None:
    assert throttled(world, (signed(shared, n, STRANGERS) for n in range(MANY)))
    validate(world, signed(shared, MANY, OWNERS))


def test_a_failed_transaction_of_the_owners_that_is_sent_again_does_not_keep_them_out(
    world: World, shared: Address
) -> None:
    # The second signature is another's.
    failing = signed(shared, 1, [OWNERS[0], STRANGERS[0]])
    assert throttled(world, (failing for _ in range(MANY)))
    validate(world, signed(shared, 2, OWNERS))


def test_owners_who_let_validations_fail_themselves_are_throttled(
    world: World, shared: Address
) -> None:
    rubbish = (signed(shared, n, [OWNERS[0], STRANGERS[0]]) for n in range(MANY))
    assert throttled(world, rubbish)
    with pytest.raises(ValidationsThrottled):
        validate(world, signed(shared, MANY, OWNERS))


ANN, BEN, PAYMASTER, TOKEN = (Address(bytes([n]) * 20) for n in (1, 2, 3, 4))
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
