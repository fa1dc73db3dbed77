"""Validations of transactions that an account or a paymaster has to agree to."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Iterator

import pytest

from entresol._native import address_of, public_key
from entresol.errors import AccountRejection, PoolRejection, ValidationsThrottled
from entresol.execution.account_senders import Involved
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
from tests.support.contracts.accounts import VALIDATE, ScriptedWorld, fill, sign_by, use_nonce
from tests.support.contracts.layer_two import ALICE, SECRETS

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
        """Return the next transaction of the account."""
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
    involved = Involved.of_raw(raw)
    assert involved is not None
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


def test_an_account_that_has_passed_is_not_throttled_with_strangers(world: World) -> None:
    asyncio.run(world.validations.validate(world.transaction()))
    world.budget.failed(Involved(STRANGER), LATE, SECONDS)
    assert not world.rejects(world.transaction().raw)


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


def test_a_validation_in_vain_for_a_full_pool_counts_as_one_that_has_failed(world: World) -> None:
    async def live() -> None:
        def add() -> None:
            raise PoolRejection("txpool is full")

        validation = world.validations.prepare(world.transaction())
        assert validation is not None
        with pytest.raises(PoolRejection, match="txpool is full"):
            await world.validations.run(validation, add)

    asyncio.run(live())
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
