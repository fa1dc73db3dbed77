"""Steps before an execution for which nobody pays: who bounds them, who is to blame, and whom it does not concern."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count

import pytest

from entresol._native import address_of, public_key
from entresol.chain.mempool.account_rules import MAX_FAILURES, PAYMASTER_LIMIT, THROTTLE_BLOCKS
from entresol.chain.sealing.block_builder import BlockBuilder
from entresol.chain.sealing.block_filler import INLINE_GAS
from entresol.dev.reverts import Reverts
from entresol.errors import AccountRejection, GasBudgetSpent, InsufficientFunds, PoolRejection
from entresol.execution.limits import GAS_PER_SECOND, MAX_REJECTED_GAS, WorkBudget
from entresol.primitives.transactions import Transaction, sign
from entresol.primitives.values import Address
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import deposit, long_transaction
from tests.support.contracts.accounts import (
    ASK_PAYMASTER,
    GAS,
    PAYS,
    ScriptedWorld,
    fill,
    pay,
    paymaster_code,
)
from tests.support.contracts.layer_two import ALICE, BOB, ETHER, FEE

MUCH = 2_000_000
"""A gas limit that is far above that of a validation."""
LOOP = "5b5f56"
BURNS_IF_RICH = "620f42405a11600a57005b600a56"
"""Loops if it has more than a million gas."""
HASH_OF_A_MILLION_GAS = "630fffff0060e01b5f525f5f60d55f5f60095af150"
"""A call of BLAKE2F (0x09) with a million rounds, a unit of gas each."""
RULES = "Violated validation rules: Took too many computational gas, allowed limit: 300000"


class World:
    """An L2 that seals on request, with a paymaster whose code a test changes, and keys without ether."""

    def __init__(self, l2: ScriptedWorld) -> None:
        self.l2, self.chain = l2, l2.chain
        self.paymaster = l2.put(paymaster_code(fee=MUCH * FEE), at=0x55)
        self.chain.edit(
            self.paymaster, lambda it: it.set_balance(self.paymaster, 10_000 * MUCH * FEE)
        )
        self.chain.schedule.seal_on_request()
        self.chain.builder.seal()

    def key(self, number: int, **fields: object) -> Transaction:
        """Return a transaction of a key that has no ether, with the paymaster."""
        secret = (1_000 + number).to_bytes(32)
        sender = Address(address_of(public_key(secret)))
        fields = {"gas_limit": MUCH, "paymaster": self.paymaster, **fields}
        return sign(fill(sender, **fields), secret)

    def long(self) -> Transaction:
        """Return a transaction of Bob's that takes longer than its gas."""
        return long_transaction(self.l2.nonce(BOB), by=1)

    def send(self, *transactions: Transaction) -> None:
        """Add transactions to the pool."""
        for transaction in transactions:
            InlineSequencer(self.chain).submit(transaction.raw)

    def replace_paymaster(self, code: str) -> None:
        """Let the paymaster have other code, which the pool does not see."""
        self.chain.edit(self.paymaster, lambda it: it.set_code(self.paymaster, bytes.fromhex(code)))

    def fail(self, *transactions: Transaction, code: str = LOOP) -> None:
        """Let the pool admit transactions, and a block reject them."""
        self.send(*transactions)
        self.replace_paymaster(code)
        self.chain.builder.seal()
        self.replace_paymaster(paymaster_code(fee=MUCH * FEE))
        self.chain.builder.seal()

    def included(self) -> list[Address]:
        """Return the senders of the head's transactions."""
        record = self.chain.blocks.record(self.chain.number)
        return [Address(sender) for _, sender in record.transactions]


@pytest.fixture
def world(l2: ScriptedWorld) -> World:
    return World(l2)


# Whether there is a paymaster


def test_a_key_that_names_itself_as_its_paymaster_is_not_admitted(l2: ScriptedWorld) -> None:
    with pytest.raises(AccountRejection, match="invalid context"):
        InlineSequencer(l2.chain).submit(l2.from_key(paymaster=ALICE).raw)


def test_the_ether_of_a_sender_that_is_its_paymaster_counts_once(l2: ScriptedWorld) -> None:
    account = l2.account(is_logged=False, ether=GAS * FEE)
    l2.script(account, ASK_PAYMASTER, pay(GAS * FEE), output=PAYS)
    with pytest.raises(InsufficientFunds):
        InlineSequencer(l2.chain).submit(l2.from_contract(account, paymaster=account, value=1).raw)


# The same bound in the pool and in a block


def test_a_paymaster_sees_the_same_gas_in_the_pool_and_in_a_block(world: World) -> None:
    l2 = world.l2
    l2.chain.schedule.seal_at_once()
    burner = l2.put(BURNS_IF_RICH)
    paymaster = l2.contract(ether=ETHER)
    l2.script(paymaster, ASK_PAYMASTER, (burner, 0, b""), pay(MUCH * FEE), output=PAYS)
    with pytest.raises(AccountRejection, match=RULES):
        world.send(world.key(1, paymaster=paymaster))
    world.send(world.key(1, paymaster=paymaster, gas_limit=600_000))
    assert l2.last().succeeded


@pytest.mark.parametrize("code", [LOOP, HASH_OF_A_MILLION_GAS], ids=["a loop", "a precompile"])
def test_a_block_stops_a_paymaster_where_the_pool_does(world: World, code: str) -> None:
    late = world.key(1)
    world.send(late)
    world.replace_paymaster(code)
    world.chain.builder.seal()
    rejection = world.chain.rejections.of(late.hash)
    assert isinstance(rejection, AccountRejection)
    assert str(rejection).endswith(RULES)
    assert rejection.party == "paymaster"
    assert rejection.gas <= 300_000
    assert (len(world.chain.pool), world.included()) == (0, [])


def test_a_block_whose_steps_were_bounded_is_replayed_without_bounds(world: World) -> None:
    world.send(world.key(1), world.key(2))
    world.chain.builder.seal()
    assert len(world.included()) == 2
    world.chain.verify()


# The budget of a block


def test_a_block_executes_little_in_vain_and_the_rest_waits(world: World) -> None:
    late = [world.key(number) for number in range(16)]
    world.send(*late, world.l2.from_key(1, value=3))
    world.replace_paymaster(LOOP)
    world.chain.builder.seal()
    dropped = [it for it in late if it.hash not in world.chain.pool]
    assert len(dropped) == MAX_REJECTED_GAS // 300_000
    assert world.included() == [BOB]
    world.chain.builder.seal()
    assert not len(world.chain.pool)


def test_who_has_paid_before_does_not_wait_for_those_who_fail(world: World) -> None:
    other = world.l2.put(paymaster_code(fee=MUCH * FEE), at=0x56)
    world.chain.edit(other, lambda it: it.set_balance(other, ETHER))
    paid = world.key(99, paymaster=other)
    world.send(paid)
    world.chain.builder.seal()
    world.send(*(world.key(number) for number in range(16)))
    world.send(world.key(99, paymaster=other, nonce=1), world.key(98, paymaster=other))
    world.replace_paymaster(LOOP)
    world.chain.builder.seal()
    assert world.included() == [paid.sender]


def test_reading_the_pending_block_drops_nothing_and_blames_nobody(world: World) -> None:
    late = world.key(1)
    world.send(late)
    world.replace_paymaster(LOOP)
    for _ in range(5):
        assert not world.chain.builder.pending().transactions
    assert late.hash in world.chain.pool
    assert not len(world.chain.pool.penalties)
    assert world.chain.rejections.of(late.hash) is None
    world.chain.builder.seal()
    assert late.hash not in world.chain.pool


@pytest.mark.parametrize(
    "read",
    [BlockBuilder.seal, BlockBuilder.seal_work, BlockBuilder.seal_pending, BlockBuilder.pending],
)
def test_a_block_beyond_its_budget_leaves_pool_queue_and_penalties_as_they_were(
    world: World, read: Callable[..., object]
) -> None:
    chain = world.chain
    late, long = world.key(1, max_fee_per_gas=2 * FEE, max_priority_fee_per_gas=FEE), world.long()
    world.send(late, long)
    chain.enqueue(deposit(0))
    world.replace_paymaster(LOOP)
    assert list(chain.pool.best()) == [late, long]
    before = (chain.number, chain.pool.version, chain.latest, chain.clock.state)
    for _ in range(MAX_FAILURES + 1):
        with pytest.raises(GasBudgetSpent):
            read(chain.builder, budget=WorkBudget(INLINE_GAS))
    assert (chain.number, chain.pool.version, chain.latest, chain.clock.state) == before
    assert list(chain.pool.best()) == [late, long]
    assert len(chain.filler.priority) == 1
    assert not len(chain.pool.penalties)
    assert chain.rejections.of(late.hash) is None
    chain.builder.seal()
    assert world.included()[1:] == [long.sender]
    assert isinstance(chain.rejections.of(late.hash), AccountRejection)
    assert len(chain.pool.penalties) == 1
    chain.verify()


def test_what_a_block_rejects_counts_in_its_budget_by_its_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = INLINE_GAS / GAS_PER_SECOND
    monkeypatch.setattr(time, "thread_time", map(seconds.__mul__, count()).__next__)
    world.send(world.key(1), world.key(2))
    world.replace_paymaster(LOOP)
    with pytest.raises(GasBudgetSpent):
        world.chain.builder.seal(budget=WorkBudget(INLINE_GAS))
    assert len(world.chain.pool) == 2


# Who is to blame


def test_a_transaction_that_is_sent_again_counts_once(world: World) -> None:
    for _ in range(MAX_FAILURES):
        world.fail(world.key(1))
    world.send(world.key(2))
    with pytest.raises(PoolRejection, match="blocks have rejected this transaction"):
        world.send(world.key(1))
    for _ in range(THROTTLE_BLOCKS):
        world.chain.builder.seal()
    world.send(world.key(1))


def test_a_checkpoint_restores_which_transactions_have_failed(world: World) -> None:
    reverts = Reverts(world.chain)
    checkpoint = reverts.checkpoint()
    for _ in range(MAX_FAILURES):
        world.fail(world.key(1))
    reverts.restore(checkpoint)
    world.send(world.key(1))


# What waits for a nonce


def test_what_waits_for_a_nonce_takes_no_place_of_a_paymaster(world: World) -> None:
    for number in range(PAYMASTER_LIMIT + 1):
        world.send(world.key(number, nonce=5))
    assert world.chain.pool.counts().queued == PAYMASTER_LIMIT + 1
    for number in range(100, 100 + PAYMASTER_LIMIT):
        world.send(world.key(number))
    with pytest.raises(PoolRejection, match="paymaster limit exceeded:"):
        world.send(world.key(99))


def test_what_waits_for_a_nonce_reserves_no_ether(world: World) -> None:
    world.chain.edit(world.paymaster, lambda it: it.set_balance(world.paymaster, 2 * MUCH * FEE))
    world.send(world.key(1, nonce=1, max_fee_per_gas=2 * FEE), world.key(2), world.key(3))
    with pytest.raises(InsufficientFunds):
        world.send(world.key(4))


def test_what_becomes_pending_beyond_the_limit_of_its_paymaster_is_dropped(world: World) -> None:
    nonces = range(1, 10)
    world.send(*(world.key(1, nonce=nonce) for nonce in nonces))
    for number in range(100, 100 + PAYMASTER_LIMIT - 3):
        world.send(world.key(number))
    world.send(world.key(1, nonce=0))
    assert world.chain.pool.counts() == (PAYMASTER_LIMIT, 0)


# Automine


def test_a_sender_is_told_that_a_block_has_rejected_its_transaction(l2: ScriptedWorld) -> None:
    paymaster = l2.put(paymaster_code(), at=0x55)
    l2.chain.edit(paymaster, lambda it: it.set_balance(paymaster, ETHER))
    l2.chain.builder.seal()
    number = l2.chain.number
    transaction = l2.from_key(paymaster=paymaster)
    l2.chain.add(transaction)
    l2.chain.edit(paymaster, lambda it: it.set_code(paymaster, bytes.fromhex("5f5ffd")))
    outcomes: list[Exception | None] = []
    InlineSequencer(l2.chain).include(transaction.hash, outcomes.append)
    assert [type(outcome) for outcome in outcomes] == [AccountRejection]
    assert (l2.chain.number, len(l2.chain.pool)) == (number, 0)
