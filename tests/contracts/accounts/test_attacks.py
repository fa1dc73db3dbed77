"""Accounts and paymasters that want more than they are owed: attacks, signatures, and what the examples allow."""

from __future__ import annotations

import msgspec
import pytest

from entresol._native import address_of, keccak256, public_key
from entresol.errors import AccountRejection, InvalidSignature, NonceTooLow
from entresol.primitives.l2_to_l1_logs import BOOTLOADER
from entresol.primitives.transactions import Transaction, ZkTransaction
from entresol.primitives.values import Address
from entresol.rollup.system_contracts import NONCE_HOLDER, TESTNET_PAYMASTER
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.contracts.accounts import (
    AGREES,
    ASK_PAYMASTER,
    EXECUTE,
    GAS,
    GENERAL,
    NOBODY,
    PAY,
    PAYS,
    POST,
    SELECTORS,
    VALIDATE,
    ScriptedWorld,
    T,
    approval_based,
    fill,
    functions,
    pay,
    sign_by,
    sign_message,
    use_nonce,
)
from tests.support.contracts.layer_two import (
    ALICE,
    BOB,
    ETHER,
    FEE,
    SECRETS,
    artifact_for_tests,
    calldata,
    encode,
    failing,
    failure,
)
from tests.support.evm.assembler import assemble

COST = GAS * FEE


def test_a_reentrant_paymaster_gets_no_second_fee(l2: ScriptedWorld) -> None:
    paymaster, account = l2.paymaster(), l2.account()
    again = (account, 0, SELECTORS[EXECUTE])
    l2.script(account, EXECUTE)
    l2.script(paymaster, ASK_PAYMASTER, pay(COST), again, output=PAYS)
    l2.script(paymaster, POST, (paymaster, 0, SELECTORS[ASK_PAYMASTER]), may_fail=True)
    result = l2.include(l2.from_contract(account, paymaster=paymaster))
    # In the last step nobody can pay any more, so the call of itself fails.
    assert l2.balance(paymaster) == ETHER - result.gas_used * FEE
    assert l2.balance(account) == ETHER
    assert l2.balance(BOOTLOADER) == 0


def test_a_paymaster_takes_no_more_tokens_than_approved(l2: ScriptedWorld) -> None:
    paymaster, token = l2.paymaster(), l2.token()
    take = calldata("transferFrom(address,address,uint256)", ALICE, paymaster, 11)
    l2.script(paymaster, ASK_PAYMASTER, (token, 0, take), pay(COST), output=PAYS)
    with pytest.raises(AccountRejection):
        l2.open().run(l2.from_key(paymaster=paymaster, paymaster_input=approval_based(token, 10)))


def test_a_jump_reuses_no_nonce(l2: ScriptedWorld) -> None:
    account = l2.account()
    jump = (NONCE_HOLDER, 0, calldata("increaseMinNonce(uint256)", 2**32))
    l2.script(account, VALIDATE, jump, output=AGREES)
    l2.include(l2.from_contract(account))
    for nonce in (0, 1, 2**32 - 1):
        transaction = l2.from_contract(account, nonce=nonce)
        with pytest.raises(NonceTooLow):
            l2.open().run(transaction)


def test_an_account_that_destroys_itself_while_it_pays_gets_only_its_change(
    l2: ScriptedWorld,
) -> None:
    """The proxy runs scripts, except that it pays by a self-destruct to the bootloader."""
    script = l2.deploy(artifact_for_tests("ScriptedContract"))
    proxy = assemble(
        f"0 calldataload 0xe0 shr 0x{SELECTORS[PAY].hex()} eq @pay jumpi "
        f"calldatasize 0 0 calldatacopy 0 0 calldatasize 0 0x{script.hex()} gas delegatecall "
        "returndatasize 0 0 returndatacopy @ok jumpi returndatasize 0 revert "
        f"ok: returndatasize 0 return pay: 0x{BOOTLOADER.hex()} selfdestruct"
    )
    account = l2.put(proxy.hex(), at=0x43)
    l2.chain.edit(account, lambda it: it.set_balance(account, ETHER))
    l2.set_version(account, 1)
    l2.script(account, VALIDATE, use_nonce(0), output=AGREES)
    l2.script(account, EXECUTE, (BOB, 5, b""))
    supply, bob = l2.supply(), l2.balance(BOB)
    result = l2.include(l2.from_contract(account))
    assert result.succeeded
    assert functions(result) == [VALIDATE, EXECUTE]
    assert l2.balance(account) == ETHER - 5 - result.gas_used * FEE
    assert (l2.balance(BOB), l2.balance(BOOTLOADER)) == (bob + 5, 0)
    assert l2.supply() == supply - result.gas_used * FEE


def test_an_account_that_changes_its_code_while_it_pays_gets_only_its_change(
    l2: ScriptedWorld,
) -> None:
    """The proxy runs scripts. While it pays it sets slot 9, and executes by other code from then on."""
    script = l2.deploy(artifact_for_tests("ScriptedContract"))
    take_all = l2.put(f"5f5f5f5f4773{BOB.hex()}5af100", at=0x45)
    proxy = assemble(
        f"0 calldataload 0xe0 shr 0x{SELECTORS[PAY].hex()} eq @pay jumpi 9 sload @other jumpi "
        f"0x{script.hex()} @run jump other: 0x{take_all.hex()} @run jump "
        f"pay: 1 9 sstore 0x{script.hex()} run: calldatasize 0 0 calldatacopy "
        "0 0 calldatasize 0 dup5 gas delegatecall "
        "returndatasize 0 0 returndatacopy @ok jumpi returndatasize 0 revert "
        "ok: returndatasize 0 return"
    )
    account = l2.put(proxy.hex(), at=0x46)
    l2.chain.edit(account, lambda it: it.set_balance(account, ETHER))
    l2.set_version(account, 1)
    l2.script(account, VALIDATE, use_nonce(0), output=AGREES)
    l2.script(account, PAY, pay(COST))
    supply, bob = l2.supply(), l2.balance(BOB)
    result = l2.include(l2.from_contract(account))
    assert functions(result) == [VALIDATE, PAY]
    # The new code takes what was there while it ran; the refund came after it.
    assert l2.balance(BOB) == bob + ETHER - COST
    assert l2.balance(account) == COST - result.gas_used * FEE
    assert (l2.balance(BOOTLOADER), l2.supply()) == (0, supply - result.gas_used * FEE)


def test_a_validation_that_writes_for_others_is_not_admitted(l2: ScriptedWorld) -> None:
    account = l2.account(is_logged=False)
    counter = l2.put("60015401600155", at=0x47)
    l2.script(account, VALIDATE, use_nonce(0), (counter, 0, b""), output=AGREES, is_logged=False)
    with pytest.raises(AccountRejection, match="Touched disallowed storage slots"):
        InlineSequencer(l2.chain).submit(l2.from_contract(account).raw)
    assert not any(l2.chain.latest.slot(counter, (1).to_bytes(32)))


def test_an_account_cannot_pay_with_what_the_bootloader_has(l2: ScriptedWorld) -> None:
    l2.chain.edit(BOOTLOADER, lambda it: it.set_balance(BOOTLOADER, ETHER))
    account = l2.account(fee=0)
    with pytest.raises(AccountRejection, match="Failed to charge fee"):
        l2.open().run(l2.from_contract(account))
    assert l2.balance(BOOTLOADER) == ETHER


# --- Who judges a signature ---


@pytest.fixture
def account(l2: ScriptedWorld) -> Address:
    return l2.account(is_logged=False)


def rejected(l2: ScriptedWorld, transaction: Transaction, code: bytes) -> Exception:
    """Build a block in which the sender of a pending transaction has another code; return why that is dropped."""
    l2.chain.schedule.seal_on_request()
    l2.chain.add(transaction)
    executor = l2.open()
    executor.overlay.set_code(transaction.sender, code)
    best = l2.chain.filler.best_for(executor)
    assert best.take()
    best.execute()
    assert not executor.transactions
    l2.chain.rejections.apply(executor.rejected)
    assert l2.chain.pool.get(transaction.hash) is None
    error = l2.chain.rejections.of(transaction.hash)
    assert error is not None
    return error


@pytest.mark.parametrize("code", [b"", b"\xef\x01\x00" + ALICE], ids=["none", "a delegation"])
def test_an_account_without_code_of_its_own_has_not_signed(
    l2: ScriptedWorld, account: Address, code: bytes
) -> None:
    assert isinstance(rejected(l2, l2.from_contract(account), code), InvalidSignature)


def test_a_key_whose_address_has_code_no_longer_sends(l2: ScriptedWorld) -> None:
    error = rejected(l2, l2.from_key(), b"\x00")
    assert isinstance(error, AccountRejection)
    assert "Sender is not an account" in str(error)


def test_a_rewound_transaction_is_judged_anew(l2: ScriptedWorld) -> None:
    start = l2.chain.number
    address = l2.account(is_logged=False)
    l2.chain.history.rewind(start)
    l2.chain.drop_pending()
    l2.chain.edit(address, lambda state: state.set_balance(address, ETHER))
    l2.chain.builder.seal()
    before = l2.chain.number
    assert l2.account(is_logged=False) == address
    sent = l2.from_contract(address)
    l2.chain.schedule.seal_on_request()
    l2.chain.add(sent)
    l2.chain.builder.seal()
    assert l2.last().succeeded
    l2.chain.history.rewind(before)
    # Without its code the account is one of a key, which has not signed.
    assert l2.chain.pool.get(sent.hash) is None


def unpaid(l2: ScriptedWorld, message: bytes) -> str:
    transaction = l2.from_key(paymaster=TESTNET_PAYMASTER, paymaster_input=message)
    with pytest.raises(AccountRejection) as raised:
        l2.open().run(transaction)
    return raised.value.reason


def test_it_takes_what_was_approved(l2: ScriptedWorld) -> None:
    token = l2.token(amount=2 * COST)
    before = l2.balance(ALICE)
    message = approval_based(token, COST)
    result = l2.include(l2.from_key(paymaster=TESTNET_PAYMASTER, paymaster_input=message))
    assert result.succeeded
    assert l2.balance(ALICE) == before
    assert l2.token_balance(token, TESTNET_PAYMASTER) == COST
    assert l2.token_balance(token, ALICE) == COST
    assert l2.balance(TESTNET_PAYMASTER) == 100 * ETHER - result.gas_used * FEE


def test_less_than_the_fee_is_not_enough(l2: ScriptedWorld) -> None:
    token = l2.token(amount=2 * COST)
    reason = unpaid(l2, approval_based(token, COST - 1))
    assert reason.startswith("Paymaster validation returned invalid magic value")


def test_only_the_bootloader_asks_it(l2: ScriptedWorld) -> None:
    values = (0,) * 10
    transaction: tuple[object, ...] = (*values, [0] * 4, b"", b"", [], b"", b"")
    data = calldata(
        f"validateAndPayForPaymasterTransaction(bytes32,bytes32,{T})",
        bytes(32),
        bytes(32),
        transaction,
    )
    with failing(failure("Unauthorized(address)", ALICE)):
        l2.call(TESTNET_PAYMASTER, data)
    with failing(failure("InvalidInput()")):
        l2.call(TESTNET_PAYMASTER, data, sender=BOOTLOADER)


# --- Examples ---


KEYS = [bytes([0x31 + i]) * 32 for i in range(3)]
OWNERS = [Address(address_of(public_key(key))) for key in KEYS]
STRANGER = b"\x39" * 32
MESSAGE = keccak256(b"hello")
OWNER, KEY = SECRETS[0], b"\x41" * 32
SESSION = Address(address_of(public_key(KEY)))
UNSIGNED = pytest.raises(AccountRejection, match="invalid magic value")


def submit(l2: ScriptedWorld, payload: ZkTransaction, *keys: bytes) -> None:
    """Send a transaction of an account with its next nonce, signed by all keys."""
    whole = msgspec.structs.replace(payload, nonce=l2.min_nonce(payload.sender))
    InlineSequencer(l2.chain).submit(sign_by(whole, *keys).encode())


def funded(l2: ScriptedWorld, name: str, types: str, *arguments: object) -> Address:
    """Deploy a contract, and give it an ether."""
    address = l2.deploy(artifact_for_tests(name), types, *arguments)
    assert l2.send(address, b"", value=ETHER).succeeded
    return address


@pytest.fixture
def multisig(l2: ScriptedWorld) -> Address:
    return l2.multisig(*OWNERS)


@pytest.mark.parametrize(
    "keys",
    [KEYS[:1], KEYS, [KEYS[0]] * 2, [KEYS[1], KEYS[0]], [KEYS[0], STRANGER]],
    ids=["one", "three", "one twice", "wrong order", "a stranger"],
)
def test_nothing_else_is_signed(l2: ScriptedWorld, multisig: Address, keys: list[bytes]) -> None:
    with UNSIGNED:
        submit(l2, fill(multisig, value=5), *keys)


@pytest.mark.parametrize("kind", ["multisig", "session"])
def test_a_signed_message_is_not_another_accounts(l2: ScriptedWorld, kind: str) -> None:
    if kind == "multisig":
        (one, other), keys = [l2.multisig(*OWNERS) for _ in range(2)], KEYS[:2]
    else:
        code = artifact_for_tests("SessionAccount")
        (one, other), keys = [l2.deploy(code, "(address)", ALICE) for _ in range(2)], [OWNER]
    signature = sign_message(l2, one, MESSAGE, *keys)
    assert l2.is_signed(one, MESSAGE, signature)
    assert not l2.is_signed(other, MESSAGE, signature)


@pytest.mark.parametrize(
    ("owners", "error"),
    [
        ([ALICE], calldata("InvalidThreshold(uint256)", 2)),
        ([ALICE, BOB, ALICE], calldata("InvalidOwner(address)", ALICE)),
    ],
)
def test_owners_that_are_none_are_rejected(
    l2: ScriptedWorld, owners: list[Address], error: bytes
) -> None:
    code = artifact_for_tests("MultisigAccount").bytecode
    with failing(error):
        l2.call(None, code + encode("(address[],uint256)", owners, 2))


def test_a_signed_transaction_is_not_a_signed_message(
    l2: ScriptedWorld, multisig: Address, wallet: Address
) -> None:
    for sender, keys in ((multisig, KEYS[:2]), (wallet, [OWNER])):
        payload = fill(sender)
        signature = sign_by(payload, *keys).custom_signature
        assert not l2.is_signed(sender, payload.signing_hash(), signature)


# --- An account whose owner lets other keys spend a budget on one contract ---


@pytest.fixture
def wallet(l2: ScriptedWorld) -> Address:
    return funded(l2, "SessionAccount", "(address)", ALICE)


@pytest.fixture
def game(l2: ScriptedWorld) -> Address:
    return l2.contract()


def open_session(
    l2: ScriptedWorld, wallet: Address, target: Address, budget: int, key: Address = SESSION
) -> None:
    data = calldata("setSession(address,address,uint256)", key, target, budget)
    submit(l2, fill(wallet, to=wallet, data=data), OWNER)


def budget_of(l2: ScriptedWorld, wallet: Address) -> int:
    _, budget = l2.read(wallet, "sessions(address)(address,uint256)", SESSION)
    return int(budget)


def test_a_session_spends_and_ends_with_its_budget(
    l2: ScriptedWorld, wallet: Address, game: Address
) -> None:
    open_session(l2, wallet, game, 2 * COST)
    submit(l2, fill(wallet, to=game, value=7), KEY)
    assert l2.last().succeeded
    assert (l2.balance(game), budget_of(l2, wallet)) == (7, COST - 7)
    with UNSIGNED:
        submit(l2, fill(wallet, to=game), KEY)


def test_a_session_calls_nothing_else(l2: ScriptedWorld, wallet: Address, game: Address) -> None:
    open_session(l2, wallet, game, ETHER)
    for target in (NOBODY, wallet, ALICE):
        with UNSIGNED:
            submit(l2, fill(wallet, to=target), KEY)


def test_no_session_is_for_the_account_itself(l2: ScriptedWorld, wallet: Address) -> None:
    open_session(l2, wallet, wallet, ETHER)
    assert not l2.last().succeeded
    assert budget_of(l2, wallet) == 0


def test_a_session_gives_no_tokens_to_a_paymaster(
    l2: ScriptedWorld, wallet: Address, game: Address
) -> None:
    token = l2.token(wallet, 10 * COST)
    open_session(l2, wallet, game, ETHER)
    offer = approval_based(token, COST)
    payload = fill(wallet, to=game, paymaster=TESTNET_PAYMASTER, paymaster_input=offer)
    with UNSIGNED:
        submit(l2, payload, KEY)
    submit(l2, payload, OWNER)
    assert l2.token_balance(token, TESTNET_PAYMASTER) == COST


FREE = {"to": Address.zero(), "paymaster": TESTNET_PAYMASTER}
"""What costs the account nothing, on the target of a session that nobody has opened."""


def test_an_invalid_signature_is_not_a_session(l2: ScriptedWorld, wallet: Address) -> None:
    for signature in (bytes(65), b"\x01" * 65, b"\x01"):
        with UNSIGNED:
            InlineSequencer(l2.chain).submit(l2.from_contract(wallet, signature, **FREE).raw)


def test_an_unknown_key_is_not_a_session(l2: ScriptedWorld, wallet: Address) -> None:
    with UNSIGNED:
        submit(l2, fill(wallet, **FREE), KEY)


@pytest.mark.parametrize("budget", [0, 7], ids=["ended", "spent"])
def test_a_session_without_a_budget_does_not_call_for_free(
    l2: ScriptedWorld, wallet: Address, game: Address, budget: int
) -> None:
    open_session(l2, wallet, game, ETHER)
    open_session(l2, wallet, game, budget)
    if budget:
        submit(l2, fill(wallet, to=game, value=budget, paymaster=TESTNET_PAYMASTER), KEY)
    assert budget_of(l2, wallet) == 0
    with UNSIGNED:
        submit(l2, fill(wallet, to=game, paymaster=TESTNET_PAYMASTER), KEY)


def test_no_session_is_for_the_key_of_an_invalid_signature(
    l2: ScriptedWorld, wallet: Address, game: Address
) -> None:
    open_session(l2, wallet, game, ETHER, Address.zero())
    assert not l2.last().succeeded
    with UNSIGNED:
        InlineSequencer(l2.chain).submit(l2.from_contract(wallet, bytes(65), to=game, nonce=1).raw)


def test_the_owner_signs_messages_and_a_session_does_not(
    l2: ScriptedWorld, wallet: Address, game: Address
) -> None:
    open_session(l2, wallet, game, ETHER)
    assert l2.is_signed(wallet, MESSAGE, sign_message(l2, wallet, MESSAGE, OWNER))
    assert not l2.is_signed(wallet, MESSAGE, sign_message(l2, wallet, MESSAGE, KEY))


@pytest.fixture
def sponsor(l2: ScriptedWorld) -> Address:
    return funded(l2, "SponsorPaymaster", "(address[])", [BOB])


def test_it_pays_for_senders_on_its_list_alone(l2: ScriptedWorld, sponsor: Address) -> None:
    before = l2.balance(BOB)
    InlineSequencer(l2.chain).submit(l2.from_key(1, paymaster=sponsor, value=3).raw)
    assert l2.balance(BOB) == before - 3
    assert l2.balance(sponsor) == ETHER - l2.last().gas_used * FEE
    with pytest.raises(AccountRejection, match=calldata("NotSponsored(address)", ALICE).hex()):
        InlineSequencer(l2.chain).submit(l2.from_key(paymaster=sponsor).raw)


def test_it_takes_its_token_and_nothing_less(l2: ScriptedWorld) -> None:
    token, other = l2.token(amount=50), l2.token()
    paymaster = funded(l2, "TokenPaymaster", "(address)", token)
    for message, reason in (
        (approval_based(token, 0), "Min allowance too low"),
        (GENERAL, calldata("UnsupportedPaymasterFlow()").hex()),
        (approval_based(other, 1), "Invalid token"),
    ):
        with pytest.raises(AccountRejection, match=reason):
            InlineSequencer(l2.chain).submit(
                l2.from_key(paymaster=paymaster, paymaster_input=message).raw
            )
    before = l2.balance(ALICE)
    paid = l2.from_key(paymaster=paymaster, paymaster_input=approval_based(token, 1))
    InlineSequencer(l2.chain).submit(paid.raw)
    assert l2.last().succeeded
    assert l2.balance(ALICE) == before
    assert (l2.token_balance(token, ALICE), l2.token_balance(token, paymaster)) == (49, 1)
