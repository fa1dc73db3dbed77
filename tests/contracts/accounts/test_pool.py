"""Transactions of contract accounts and with paymasters in pool and blocks: rules, limits, and work for which nobody pays."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count

import pytest

from entresol._native import address_of, keccak256, public_key
from entresol.chain.mempool.account_rules import (
    ACCOUNT_LIMIT,
    MAX_FAILURES,
    PAYMASTER_LIMIT,
    THROTTLE_BLOCKS,
)
from entresol.chain.sealing.block_builder import BlockBuilder
from entresol.chain.sealing.block_filler import INLINE_GAS
from entresol.errors import (
    AccountRejection,
    GasBudgetSpent,
    InsufficientFunds,
    InvalidSignature,
    NonceTooLow,
    PoolRejection,
    TransactionRuleBroken,
)
from entresol.execution.account_senders import CONTRACT_DEPLOYER, NONCE_HOLDER
from entresol.execution.limits import GAS_PER_SECOND, MAX_REJECTED_GAS, WorkBudget
from entresol.features.dev.reverts import Reverts
from entresol.primitives.l2_to_l1_logs import BOOTLOADER
from entresol.primitives.transactions import Transaction, impersonate, sign
from entresol.primitives.values import Address
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import deposit, long_transaction
from tests.support.contracts.accounts import (
    AGREES,
    ASK_PAYMASTER,
    EAT_GAS,
    GAS,
    NOBODY,
    PAY,
    PAYS,
    REVERT,
    VALIDATE,
    ScriptedWorld,
    approval_based,
    fill,
    pay,
    paymaster_code,
    use_nonce,
)
from tests.support.contracts.layer_two import ALICE, BOB, ETHER, FEE, calldata

COST = GAS * FEE


@pytest.fixture
def account(l2: ScriptedWorld) -> Address:
    return l2.account(is_logged=False)


def manual(l2: ScriptedWorld) -> None:
    l2.chain.schedule.seal_on_request()


def rejection(l2: ScriptedWorld, transaction: Transaction) -> str:
    with pytest.raises(AccountRejection) as raised:
        InlineSequencer(l2.chain).submit(transaction.raw)
    return str(raised.value)


def test_a_plain_contract_cannot_send(l2: ScriptedWorld) -> None:
    text = rejection(l2, l2.from_contract(l2.contract(ether=ETHER)))
    assert "Sender is not an account" in text
    assert "invalid sender. can't start a transaction from a non-account" in text


@pytest.mark.parametrize("number", [0x8001, 0xFFFF, 1])
def test_a_system_contract_neither_sends_nor_pays(l2: ScriptedWorld, number: int) -> None:
    system = Address(number.to_bytes(20))
    reason = "a system contract neither sends nor pays"
    assert reason in rejection(l2, l2.from_key(paymaster=system))
    with pytest.raises(
        (AccountRejection, TransactionRuleBroken), match=f"{reason}|only the node itself"
    ):
        InlineSequencer(l2.chain).submit(l2.from_contract(system).raw)


def test_a_contract_account_signs_with_something(l2: ScriptedWorld, account: Address) -> None:
    with pytest.raises(InvalidSignature, match="not signed"):
        InlineSequencer(l2.chain).submit(l2.from_contract(account, b"").raw)


def test_a_used_nonce_is_too_low_and_a_gap_waits(l2: ScriptedWorld, account: Address) -> None:
    InlineSequencer(l2.chain).submit(l2.from_contract(account).raw)
    with pytest.raises(NonceTooLow):
        InlineSequencer(l2.chain).submit(l2.from_contract(account, b"other").raw)
    l2.script(account, VALIDATE, use_nonce(3), output=AGREES, is_logged=False)
    number = l2.chain.number
    InlineSequencer(l2.chain).submit(l2.from_contract(account, nonce=3).raw)
    assert (l2.chain.number, l2.chain.pool.counts().queued) == (number, 1)


def test_an_impersonated_account_is_not_asked(l2: ScriptedWorld, account: Address) -> None:
    l2.script(account, VALIDATE, ending=REVERT)
    payload = fill(account, nonce=l2.nonce(account), value=5)
    InlineSequencer(l2.chain).send(impersonate(payload, account))
    assert l2.last().succeeded
    assert l2.balance(NOBODY) == 5


def test_nobody_impersonates_by_raw_bytes(l2: ScriptedWorld, account: Address) -> None:
    for sender in (ALICE, account):
        forged = impersonate(fill(sender, nonce=l2.nonce(sender), value=5), sender)
        with pytest.raises(InvalidSignature):
            InlineSequencer(l2.chain).submit(forged.raw)


def test_impersonated_and_own_transactions_do_not_mix(l2: ScriptedWorld, account: Address) -> None:
    manual(l2)
    InlineSequencer(l2.chain).submit(l2.from_contract(account).raw)
    with pytest.raises(PoolRejection, match="the pool has transactions of this"):
        InlineSequencer(l2.chain).send(impersonate(fill(account, nonce=l2.nonce(account)), account))


# The texts of the network


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (VALIDATE, "Validation revert: Account validation error: no"),
        (PAY, "Validation revert: Failed to pay for the transaction: no"),
    ],
)
def test_steps_of_an_account_are_told_apart(
    l2: ScriptedWorld, account: Address, function: str, expected: str
) -> None:
    no = calldata("Error(string)", "no")
    l2.script(account, function, ending=REVERT, output=no, is_logged=False)
    text = rejection(l2, l2.from_contract(account))
    assert text == f"failed to validate the transaction. reason: {expected}"


def test_steps_of_a_paymaster_are_told_apart(l2: ScriptedWorld) -> None:
    paymaster = l2.paymaster()
    message = approval_based(NOBODY, 1)
    text = rejection(l2, l2.from_key(paymaster=paymaster, paymaster_input=message))
    assert "Validation revert: Pre-paymaster preparation error: " in text
    l2.script(paymaster, ASK_PAYMASTER, ending=REVERT, output=calldata("Error(string)", "no"))
    text = rejection(l2, l2.from_key(paymaster=paymaster))
    assert text.endswith("Validation revert: Paymaster validation error: no")
    l2.script(paymaster, ASK_PAYMASTER, pay(COST - 1), output=PAYS)
    text = rejection(l2, l2.from_key(paymaster=paymaster))
    assert "Validation revert: Failed to charge fee: " in text


MAPPING = "335f52600360205260405f20"
"""The slot of the caller in the mapping at slot 3."""


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (f"73{BOB.hex()}3150", "Touched disallowed storage slots: address 0x"),
        ("4750", "Touched disallowed storage slots: address 0x"),
        ("60055450", "Touched disallowed storage slots: address 0x7777"),
        ("6001600555", "Touched disallowed storage slots: address 0x7777"),
        ("60055c50", "Touched disallowed storage slots: address 0x7777"),
        (f"73{BOB.hex()}5f52600360205260405f205450", "Touched disallowed storage slots"),
        (MAPPING + "6080015450", "Touched disallowed storage slots: address 0x7777"),
        (f"73{NOBODY.hex()}3b50", f"Called contract with no code: 0x{NOBODY.hex()}"),
        *[(f"{opcode}50", "Touched disallowed context") for opcode in
          ("32", "3a", "5f40", "41", "42", "43", "44", "45", "48", "5f49", "4a", "5a", "5f5f5ff0")],
        ("fe", "Touched disallowed context"),
        ("5fff", "Touched disallowed context"),
    ],
)  # fmt: skip
def test_a_validation_reads_nothing_that_others_change(
    l2: ScriptedWorld, account: Address, code: str, text: str
) -> None:
    program = l2.put(code)
    l2.script(account, VALIDATE, use_nonce(0), (program, 0, b""), output=AGREES, is_logged=False)
    assert f"reason: Violated validation rules: {text}" in rejection(l2, l2.from_contract(account))


@pytest.mark.parametrize(
    "code",
    [
        MAPPING + "5450",
        MAPPING + "607f015450",
        # keccak(9 ‖ keccak(caller ‖ 3)), and keccak(caller ‖ keccak(9 ‖ 3)).
        MAPPING + "60205260095f5260405f205450",
        "60095f52600360205260405f20602052335f5260405f205450",
        "335450",
        f"73{BOOTLOADER.hex()}3b50",
        "333150",
    ],
    ids=["own", "+127", "outer", "inner", "address", "code", "own balance"],
)
def test_a_validation_reads_what_belongs_to_the_sender(
    l2: ScriptedWorld, account: Address, code: str
) -> None:
    program = l2.put(code)
    l2.script(account, VALIDATE, use_nonce(0), (program, 0, b""), output=AGREES, is_logged=False)
    InlineSequencer(l2.chain).submit(l2.from_contract(account).raw)
    assert l2.last().succeeded


def test_a_validation_calls_no_delegation(l2: ScriptedWorld, account: Address) -> None:
    delegated = l2.put("ef0100" + account.hex(), at=0x66)
    l2.script(account, VALIDATE, use_nonce(0), (delegated, 0, b""), output=AGREES, is_logged=False)
    assert "Called contract with no code" in rejection(l2, l2.from_contract(account))


def test_a_validation_pays_only_the_fee(l2: ScriptedWorld, account: Address) -> None:
    other = l2.contract()
    l2.script(account, PAY, pay(COST), (other, 1, b""), is_logged=False)
    assert "Touched disallowed context" in rejection(l2, l2.from_contract(account))


def test_a_caught_out_of_gas_is_final(l2: ScriptedWorld, account: Address) -> None:
    program = l2.put("5b5f56")
    l2.script(
        account,
        VALIDATE,
        use_nonce(0),
        (program, 0, b""),
        output=AGREES,
        is_logged=False,
        may_fail=True,
    )
    text = rejection(l2, l2.from_contract(account, gas_limit=2_000_000))
    assert text.endswith("Took too many computational gas, allowed limit: 300000")


@pytest.mark.parametrize("function", [VALIDATE, PAY])
def test_a_validation_has_a_gas_limit(l2: ScriptedWorld, account: Address, function: str) -> None:
    l2.script(account, function, ending=EAT_GAS, is_logged=False)
    text = rejection(l2, l2.from_contract(account, gas_limit=2_000_000))
    assert text.endswith("Took too many computational gas, allowed limit: 300000")


def test_a_paymaster_has_a_gas_limit_and_no_rules(l2: ScriptedWorld) -> None:
    paymaster, clock = l2.paymaster(fee=2_000_000 * FEE), l2.put("4250")
    l2.script(paymaster, ASK_PAYMASTER, (clock, 0, b""), pay(2_000_000 * FEE), output=PAYS)
    InlineSequencer(l2.chain).submit(l2.from_key(paymaster=paymaster, gas_limit=2_000_000).raw)
    assert l2.last().succeeded
    l2.script(paymaster, ASK_PAYMASTER, ending=EAT_GAS)
    text = rejection(l2, l2.from_key(paymaster=paymaster, gas_limit=2_000_000))
    assert text.endswith("Took too many computational gas, allowed limit: 300000")


def test_the_tokens_of_a_key_keep_the_rules(l2: ScriptedWorld) -> None:
    clock = l2.put("425f5260205ff3")
    paymaster = l2.paymaster()
    message = approval_based(clock, 2**200)
    text = rejection(l2, l2.from_key(paymaster=paymaster, paymaster_input=message))
    assert "Violated validation rules: Touched disallowed context" in text


def test_a_contract_account_has_few_transactions_in_the_pool(
    l2: ScriptedWorld, account: Address
) -> None:
    jump = (NONCE_HOLDER, 0, calldata("increaseMinNonce(uint256)", 1))
    l2.script(account, VALIDATE, jump, output=AGREES, is_logged=False)
    l2.script(account, PAY, pay(COST), is_logged=False)
    manual(l2)
    for nonce in range(ACCOUNT_LIMIT):
        InlineSequencer(l2.chain).submit(l2.from_contract(account, nonce=nonce).raw)
    with pytest.raises(PoolRejection, match="account limit exceeded:"):
        InlineSequencer(l2.chain).submit(l2.from_contract(account, nonce=ACCOUNT_LIMIT).raw)
    l2.chain.builder.seal()
    assert l2.min_nonce(account) == ACCOUNT_LIMIT


def test_a_paymaster_promises_no_ether_twice(l2: ScriptedWorld) -> None:
    paymaster = l2.paymaster(ether=2 * COST)
    manual(l2)
    nonce = l2.nonce(ALICE)
    for number in (nonce, nonce + 1):
        InlineSequencer(l2.chain).submit(l2.from_key(paymaster=paymaster, nonce=number).raw)
    third = l2.from_key(1, paymaster=paymaster)
    with pytest.raises(InsufficientFunds):
        InlineSequencer(l2.chain).submit(third.raw)
    l2.chain.builder.seal()
    assert len(l2.chain.blocks.record(l2.chain.number).results) == 2


def test_what_has_become_invalid_is_dropped_and_the_block_goes_on(
    l2: ScriptedWorld, account: Address
) -> None:
    manual(l2)
    InlineSequencer(l2.chain).submit(l2.from_contract(account).raw)
    InlineSequencer(l2.chain).submit(l2.from_key(1, value=3).raw)
    # A token of state that the account reads has changed: it has no ether any more.
    l2.chain.edit(NOBODY, lambda it: it.set_balance(account, COST - 1))
    l2.chain.builder.seal()
    record = l2.chain.blocks.record(l2.chain.number)
    assert [Address(sender) for _, sender in record.transactions] == [BOB]
    assert (len(l2.chain.pool), l2.min_nonce(account)) == (0, 0)


def test_an_account_that_fails_again_and_again_is_rejected_for_a_while(
    l2: ScriptedWorld, account: Address
) -> None:
    manual(l2)
    for signature in (b"1", b"2", b"3"):
        l2.chain.edit(account, lambda it: it.set_balance(account, ETHER))
        InlineSequencer(l2.chain).submit(l2.from_contract(account, signature).raw)
        l2.chain.edit(NOBODY, lambda it: it.set_balance(account, COST - 1))
        l2.chain.builder.seal()
    l2.chain.edit(account, lambda it: it.set_balance(account, ETHER))
    with pytest.raises(PoolRejection, match="has let transactions fail that it had"):
        InlineSequencer(l2.chain).submit(l2.from_contract(account, b"4").raw)
    for _ in range(THROTTLE_BLOCKS):
        l2.chain.builder.seal()
    InlineSequencer(l2.chain).submit(l2.from_contract(account, b"5").raw)


def test_an_account_that_resigns_loses_its_transactions(
    l2: ScriptedWorld, account: Address
) -> None:
    manual(l2)
    InlineSequencer(l2.chain).submit(l2.from_contract(account).raw)
    slot = keccak256(bytes(12) + account + bytes(32))
    l2.chain.edit(account, lambda it: it.set_slot(CONTRACT_DEPLOYER, slot, bytes(32)))
    assert len(l2.chain.pool) == 0
    with pytest.raises((AccountRejection, TransactionRuleBroken)):
        InlineSequencer(l2.chain).submit(l2.from_contract(account).raw)


def test_a_checkpoint_restores_accounts_and_debts(l2: ScriptedWorld, account: Address) -> None:
    paymaster = l2.paymaster(ether=COST)
    manual(l2)
    InlineSequencer(l2.chain).submit(l2.from_contract(account).raw)
    InlineSequencer(l2.chain).submit(l2.from_key(paymaster=paymaster).raw)
    reverts = Reverts(l2.chain)
    checkpoint = reverts.checkpoint()
    l2.chain.builder.seal()
    assert reverts.restore(checkpoint)
    assert l2.chain.pool.counts().pending == 2
    with pytest.raises(InsufficientFunds):
        InlineSequencer(l2.chain).submit(l2.from_key(1, paymaster=paymaster).raw)
    l2.chain.builder.seal()
    assert len(l2.chain.blocks.record(l2.chain.number).results) == 2


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
        return long_transaction(self.l2.nonce(BOB), by=1)

    def send(self, *transactions: Transaction) -> None:
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
        record = self.chain.blocks.record(self.chain.number)
        return [Address(sender) for _, sender in record.transactions]


@pytest.fixture
def world(l2: ScriptedWorld) -> World:
    return World(l2)


def test_a_key_that_names_itself_as_its_paymaster_is_not_admitted(l2: ScriptedWorld) -> None:
    with pytest.raises(AccountRejection, match="invalid context"):
        InlineSequencer(l2.chain).submit(l2.from_key(paymaster=ALICE).raw)


def test_the_ether_of_a_sender_that_is_its_paymaster_counts_once(l2: ScriptedWorld) -> None:
    account = l2.account(is_logged=False, ether=GAS * FEE)
    l2.script(account, ASK_PAYMASTER, pay(GAS * FEE), output=PAYS)
    with pytest.raises(InsufficientFunds):
        InlineSequencer(l2.chain).submit(l2.from_contract(account, paymaster=account, value=1).raw)


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
